package headgate.bench;

import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/** Hands each result of a streaming query to the user's function. */
public final class SparkSink extends ForeachWriter {
    public boolean open(long partition, long epoch) {
        return true;
    }

    public void process(Object row) {
        Heard.note(((Row) row).getLong(3));
    }

    public void close(Throwable error) {}
}
