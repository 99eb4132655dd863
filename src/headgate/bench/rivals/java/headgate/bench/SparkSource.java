package headgate.bench;

import java.io.Serializable;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/** The feed as a source of Structured Streaming, for micro-batches and for real-time mode. */
public final class SparkSource implements TableProvider {
    static final StructType SCHEMA =
            StructType.fromDDL("id BIGINT, sym STRING, price DOUBLE, vol INT, arrived BIGINT");

    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return SCHEMA;
    }

    public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
        return new Ticker(Integer.parseInt((String) properties.get("symbols")));
    }

    static final class Ticker implements SupportsRead, ScanBuilder, Scan {
        private final int symbols;

        Ticker(int symbols) {
            this.symbols = symbols;
        }

        public String name() {
            return "ticks";
        }

        public StructType schema() {
            return SCHEMA;
        }

        public StructType readSchema() {
            return SCHEMA;
        }

        public Set capabilities() {
            return EnumSet.of(TableCapability.MICRO_BATCH_READ);
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return this;
        }

        public Scan build() {
            return this;
        }

        public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return new Batches(symbols);
        }
    }

    static final class Batches implements MicroBatchStream, SupportsRealTimeMode {
        private final int symbols;

        Batches(int symbols) {
            this.symbols = symbols;
        }

        public Offset initialOffset() {
            return new Position(0);
        }

        public Offset latestOffset() {
            return new Position(Feed.due());
        }

        public Offset deserializeOffset(String json) {
            return new Position(Long.parseLong(json));
        }

        public Offset mergeOffsets(PartitionOffset[] offsets) {
            return new Position(((Place) offsets[0]).id);
        }

        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            return new InputPartition[] {new Part(((Position) start).id, ((Position) end).id)};
        }

        public InputPartition[] planInputPartitions(Offset start) {
            return new InputPartition[] {new Part(((Position) start).id, Long.MAX_VALUE)};
        }

        public PartitionReaderFactory createReaderFactory() {
            return new Readers(symbols);
        }

        public void commit(Offset end) {}

        public void stop() {}
    }

    static final class Position extends Offset {
        final long id;

        Position(long id) {
            this.id = id;
        }

        public String json() {
            return String.valueOf(id);
        }
    }

    static final class Place implements PartitionOffset {
        final long id;

        Place(long id) {
            this.id = id;
        }
    }

    static final class Part implements InputPartition {
        final long first;
        final long end;

        Part(long first, long end) {
            this.first = first;
            this.end = end;
        }
    }

    static final class Readers implements PartitionReaderFactory, Serializable {
        private static Ticks ticks;
        private static UTF8String[] names;
        private final int symbols;

        Readers(int symbols) {
            this.symbols = symbols;
        }

        static synchronized void ready(int symbols) {
            if (names == null) {
                UTF8String[] made = new UTF8String[symbols];
                for (int i = 0; i < symbols; i++) {
                    made[i] = UTF8String.fromString(Ticks.name(i));
                }
                ticks = new Ticks(symbols);
                names = made;
            }
        }

        public PartitionReader createReader(InputPartition partition) {
            ready(symbols);
            return new Reader(ticks, names, (Part) partition);
        }
    }

    static final class Reader implements SupportsRealTimeRead {
        private final SpecificInternalRow row = new SpecificInternalRow(SCHEMA);
        private final Ticks ticks;
        private final UTF8String[] names;
        private final long end;
        private long next;
        private long due;

        Reader(Ticks ticks, UTF8String[] names, Part part) {
            this.ticks = ticks;
            this.names = names;
            this.next = part.first;
            this.end = part.end;
        }

        public boolean next() {
            if (next >= end) {
                return false;
            }
            take();
            return true;
        }

        public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long timeout) {
            return waited(timeout.longValue());
        }

        public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long start, Long timeout) {
            return waited(timeout.longValue());
        }

        private SupportsRealTimeRead.RecordStatus waited(long timeout) {
            if (next >= due) {
                due = Feed.due();
                long limit = System.currentTimeMillis() + timeout;
                while (next >= due) {
                    if (System.currentTimeMillis() >= limit) {
                        return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(false);
                    }
                    try {
                        Thread.sleep(1);
                    } catch (InterruptedException stopped) {
                        Thread.currentThread().interrupt();
                        return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(false);
                    }
                    due = Feed.due();
                }
            }
            take();
            return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(true);
        }

        private void take() {
            int i = (int) (next & (Ticks.POOL - 1));
            row.setLong(0, next);
            row.update(1, names[ticks.symbol[i]]);
            row.setDouble(2, ticks.price[i]);
            row.setInt(3, ticks.vol[i]);
            row.setLong(4, Feed.arrived(next));
            next++;
        }

        public Object get() {
            return row;
        }

        public PartitionOffset getOffset() {
            return new Place(next);
        }

        public void close() {}
    }
}
