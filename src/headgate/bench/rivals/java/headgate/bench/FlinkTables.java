package headgate.bench;

import java.util.Collections;
import java.util.Set;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.legacy.table.connector.source.SourceFunctionProvider;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.sink.legacy.SinkFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;

/** The feed and the user's function as tables of Flink SQL, and the one job of all queries between them. */
public final class FlinkTables implements DynamicTableSourceFactory, DynamicTableSinkFactory {
    static volatile int symbols;

    /** Runs the statements as one set in this process, a task per processor in which all operators are chained. */
    public static void start(int distinct, String[] queries) {
        symbols = distinct;
        Configuration settings = new Configuration();
        settings.setString("parallelism.default", String.valueOf(Runtime.getRuntime().availableProcessors()));
        settings.setString("pipeline.object-reuse", "true");
        TableEnvironment tables =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        tables.executeSql(
                "CREATE TABLE ticks (id BIGINT, sym STRING, price DOUBLE, vol INT, arrived BIGINT) "
                        + "WITH ('connector' = 'headgate-bench')");
        StatementSet statements = tables.createStatementSet();
        for (int i = 0; i < queries.length; i++) {
            // A table that several queries write to would be a task of its own, behind a buffer.
            tables.executeSql(
                    "CREATE TABLE heard" + i + " (id BIGINT, label STRING, amount DOUBLE, arrived BIGINT) "
                            + "WITH ('connector' = 'headgate-bench')");
            statements.addInsertSql("INSERT INTO heard" + i + " " + queries[i]);
        }
        statements.execute();
    }

    public String factoryIdentifier() {
        return "headgate-bench";
    }

    public Set requiredOptions() {
        return Collections.emptySet();
    }

    public Set optionalOptions() {
        return Collections.emptySet();
    }

    public DynamicTableSource createDynamicTableSource(DynamicTableFactory.Context context) {
        return new Source();
    }

    public DynamicTableSink createDynamicTableSink(DynamicTableFactory.Context context) {
        return new Results();
    }

    static final class Source implements ScanTableSource {
        public ChangelogMode getChangelogMode() {
            return ChangelogMode.insertOnly();
        }

        public ScanTableSource.ScanRuntimeProvider getScanRuntimeProvider(ScanTableSource.ScanContext context) {
            return SourceFunctionProvider.of(new Reader(), false);
        }

        public DynamicTableSource copy() {
            return new Source();
        }

        public String asSummaryString() {
            return "ticks";
        }
    }

    static final class Reader extends RichParallelSourceFunction {
        private volatile boolean stopped = false;

        public void run(SourceFunction.SourceContext context) throws Exception {
            StringData[] names = new StringData[symbols];
            for (int i = 0; i < names.length; i++) {
                names[i] = StringData.fromString(Ticks.name(i));
            }
            Ticks ticks = new Ticks(symbols);
            GenericRowData row = new GenericRowData(5);
            int readers = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
            long next = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            while (!stopped) {
                long due = Feed.due();
                if (next >= due) {
                    Thread.sleep(1);
                }
                for (; next < due && !stopped; next += readers) {
                    int i = (int) (next & (Ticks.POOL - 1));
                    row.setField(0, Long.valueOf(next));
                    row.setField(1, names[ticks.symbol[i]]);
                    row.setField(2, Double.valueOf(ticks.price[i]));
                    row.setField(3, Integer.valueOf(ticks.vol[i]));
                    row.setField(4, Long.valueOf(Feed.arrived(next)));
                    context.collect(row);
                }
            }
        }

        public void cancel() {
            stopped = true;
        }
    }

    static final class Results implements DynamicTableSink {
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return ChangelogMode.insertOnly();
        }

        public DynamicTableSink.SinkRuntimeProvider getSinkRuntimeProvider(DynamicTableSink.Context context) {
            return new Attached();
        }

        public DynamicTableSink copy() {
            return new Results();
        }

        public String asSummaryString() {
            return "heard";
        }
    }

    static final class Attached implements DataStreamSinkProvider {
        public DataStreamSink consumeDataStream(ProviderContext context, DataStream rows) {
            // A sink of the newer interface would not be chained to a source of the older one.
            return rows.addSink(new Calls());
        }
    }

    static final class Calls implements SinkFunction {
        public void invoke(Object row, SinkFunction.Context context) {
            Heard.note(((RowData) row).getLong(3));
        }
    }
}
