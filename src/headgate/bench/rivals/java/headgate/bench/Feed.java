package headgate.bench;

import java.time.Instant;

/** When tuples arrive: in rounds, each at a rate of its own. A tuple bears the time at which it was due. */
public final class Feed {
    private static volatile Round last = new Round(null, 0, 0, 1, 0);

    /** Begins a round now. Those before it are over. */
    public static synchronized void play(double rate, double seconds) {
        last = new Round(last, last.end, last.end + (long) (rate * seconds), rate, micros());
    }

    /** How many tuples have arrived. */
    public static long due() {
        Round now = last;
        return Math.min(now.end, now.first + (long) ((micros() - now.began) * now.rate / 1e6));
    }

    public static long first() {
        return last.first;
    }

    public static long end() {
        return last.end;
    }

    public static long began() {
        return last.began;
    }

    /** When a tuple arrived, in microseconds since the epoch. */
    public static long arrived(long id) {
        Round round = last;
        while (id < round.first) {
            round = round.before;
        }
        return round.began + (long) ((id - round.first) * 1e6 / round.rate);
    }

    public static long micros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1000000 + now.getNano() / 1000;
    }

    private static final class Round {
        final Round before;
        final long first;
        final long end;
        final double rate;
        final long began;

        Round(Round before, long first, long end, double rate, long began) {
            this.before = before;
            this.first = first;
            this.end = end;
            this.rate = rate;
            this.began = began;
        }
    }
}
