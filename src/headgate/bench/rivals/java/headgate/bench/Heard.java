package headgate.bench;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The user's function: notes of each result when its tuple arrived and how long it took from there. */
public final class Heard {
    private static long[] arrived = new long[1 << 16];
    private static int[] waited = new int[1 << 16];
    private static int count = 0;

    public static synchronized void note(long arrival) {
        if (count == arrived.length) {
            arrived = java.util.Arrays.copyOf(arrived, 2 * count);
            waited = java.util.Arrays.copyOf(waited, 2 * count);
        }
        arrived[count] = arrival;
        waited[count] = (int) Math.min(Integer.MAX_VALUE, Feed.micros() - arrival);
        count++;
    }

    public static synchronized int count() {
        return count;
    }

    /** The waits of results whose tuples arrived since a time, as integers of four bytes. */
    public static synchronized byte[] since(long arrival) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            if (arrived[i] >= arrival) {
                bytes.putInt(waited[i]);
            }
        }
        return java.util.Arrays.copyOf(bytes.array(), bytes.position());
    }
}
