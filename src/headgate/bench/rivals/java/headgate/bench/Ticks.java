package headgate.bench;

/** The tuples that come round and round: those of tuples.py, to the bit. */
public final class Ticks {
    public static final int POOL = 1 << 18;

    public final int[] symbol = new int[POOL];
    public final double[] price = new double[POOL];
    public final int[] vol = new int[POOL];

    public Ticks(int symbols) {
        for (int i = 0; i < POOL; i++) {
            long z = (i + 1) * 0x9E3779B97F4A7C15L;
            z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
            z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
            z ^= z >>> 31;
            symbol[i] = (int) ((z & 0xFFFFF) % symbols);
            price[i] = 1 + ((z >>> 20) & 0x1FFFFF) % 100000 / 100.0;
            vol[i] = (int) (1 + (z >>> 42) % 1000);
        }
    }

    public static String name(int symbol) {
        return "S" + String.valueOf(10000 + symbol).substring(1);
    }
}
