import com.sun.net.httpserver.HttpServer;
import java.io.*;
import java.net.InetSocketAddress;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.test.TestingServer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;

/** A real ResourceManager with the services API and NodeManagers, in one JVM, or a second ResourceManager alone.
 *  WORK/conf has to be on the class path: the services API and each service's ApplicationMaster read yarn-site.xml there.
 *  Ports in a row from node.port: web, client, scheduler, admin, tracker, ZooKeeper, and ours: POST /stop-rm, /start-rm. */
public class YarnNode {
  static final String PROPS = """
      fs.defaultFS=file:///
      hadoop.tmp.dir=@W/tmp
      hadoop.http.filter.initializers=org.apache.hadoop.security.AuthenticationFilterInitializer
      hadoop.http.authentication.type=simple
      hadoop.registry.zk.quorum=@ZK
      hadoop.zk.address=@ZK
      yarn.minicluster.fixed.ports=true
      yarn.minicluster.use-rpc=true
      yarn.is.minicluster=true
      yarn.minicluster.control-resource-monitoring=true
      yarn.minicluster.yarn.nodemanager.resource.memory-mb=1024
      yarn.resourcemanager.hostname=127.0.0.1
      yarn.resourcemanager.am.max-attempts=20
      yarn.resourcemanager.recovery.enabled=true
      yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms=0
      yarn.resourcemanager.connect.retry-interval.ms=500
      yarn.resourcemanager.connect.max-wait.ms=60000
      yarn.resourcemanager.nodemanagers.heartbeat-interval-ms=250
      yarn.scheduler.minimum-allocation-mb=128
      yarn.scheduler.maximum-allocation-mb=1024
      yarn.scheduler.capacity.root.queues=default
      yarn.scheduler.capacity.root.default.capacity=100
      yarn.scheduler.capacity.maximum-am-resource-percent=0.9
      yarn.webapp.api-service.enable=true
      yarn.timeline-service.enabled=false
      yarn.dispatcher.drain-events.timeout=1000
      yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor
      yarn.nodemanager.resource.cpu-vcores=8
      yarn.nodemanager.aux-services=
      yarn.nodemanager.container-monitor.interval-ms=500
      yarn.nodemanager.pmem-check-enabled=false
      yarn.nodemanager.vmem-check-enabled=false
      yarn.nodemanager.disk-health-checker.enable=false
      yarn.nodemanager.delete.debug-delay-sec=0
      yarn.nodemanager.sleep-delay-before-sigkill.ms=250
      yarn.service.base.path=file://@W/base
      yarn.service.am-resource.memory=256
      yarn.service.am.java.opts=-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
      yarn.service.readiness-check-interval.seconds=1
      yarn.service.client-am.retry.max-wait-ms=10000
      yarn.service.client-am.retry-interval-ms=500
      """;
  static final String ADDRESSES = """
      yarn.resourcemanager.webapp.address@ID=127.0.0.1:@0
      yarn.resourcemanager.address@ID=127.0.0.1:@1
      yarn.resourcemanager.scheduler.address@ID=127.0.0.1:@2
      yarn.resourcemanager.admin.address@ID=127.0.0.1:@3
      yarn.resourcemanager.resource-tracker.address@ID=127.0.0.1:@4
      """;

  public static void main(String[] args) {
    try { run(); } catch (Throwable t) { t.printStackTrace(); Runtime.getRuntime().halt(1); }
  }

  static void run() throws Exception {
    Path work = Paths.get(System.getProperty("node.work")).toAbsolutePath();
    int port = Integer.getInteger("node.port"), zk = Integer.getInteger("node.zk", port + 5), other = Integer.getInteger("node.other", 0);
    boolean alone = Boolean.getBoolean("node.alone");
    Files.createDirectories(work.resolve("base"));
    Files.createDirectories(work.resolve("conf"));
    TestingServer zookeeper = alone ? null : new TestingServer(zk, work.resolve("zk").toFile(), true);
    String props = PROPS;
    if (other == 0) {
      props += addresses("", port) + "yarn.resourcemanager.store.class=org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore\n"
          + "yarn.resourcemanager.fs.state-store.uri=file://@W/rmstate\n";
    } else {
      int first = alone ? other : port, second = alone ? port : other;
      props += addresses(".rm1", first) + addresses(".rm2", second) + "yarn.resourcemanager.ha.enabled=true\n"
          + "yarn.resourcemanager.ha.rm-ids=rm1,rm2\nyarn.resourcemanager.ha.id=" + (alone ? "rm2" : "rm1") + "\nyarn.resourcemanager.cluster-id=zeta\n"
          + "yarn.resourcemanager.store.class=org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore\n"
          + "yarn.client.failover-sleep-base-ms=200\nyarn.client.failover-sleep-max-ms=500\nyarn.resourcemanager.zk-timeout-ms=4000\nhadoop.zk.timeout-ms=4000\n";
    }
    Configuration y = new Configuration(false);
    String all = props.replace("@ZK", "127.0.0.1:" + zk).replace("@W", work.toString());
    all.lines().map(String::strip).filter(l -> !l.isEmpty()).forEach(l -> y.set(l.substring(0, l.indexOf('=')), l.substring(l.indexOf('=') + 1)));
    System.getProperties().stringPropertyNames().stream().filter(k -> k.startsWith("conf."))
        .forEach(k -> y.set(k.substring(5), System.getProperty(k)));
    if (!alone)
      for (String f : List.of("core-site.xml", "yarn-site.xml", "capacity-scheduler.xml"))
        try (OutputStream o = Files.newOutputStream(work.resolve("conf").resolve(f))) { y.writeXml(o); }

    CountDownLatch stop = new CountDownLatch(1), stopped = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      stop.countDown();
      try { stopped.await(); } catch (InterruptedException ignored) { }
    }));
    if (alone) {
      YarnConfiguration c = new YarnConfiguration(y);
      c.set("yarn.resourcemanager.ha.id", "rm2");
      ResourceManager rm = new ResourceManager();
      rm.init(c);
      rm.start();
      serve(port + 6, null);
      stop.await();
      Runtime.getRuntime().halt(0);
    }
    System.setProperty("test.build.data", work.resolve("data").toString());
    // false: no web pages of NodeManagers. GuiceFilter is static, and one of theirs would steal the ResourceManager's /ws/v1/cluster.
    MiniYARNCluster cluster = new MiniYARNCluster("zeta", Integer.getInteger("node.managers", 2), 1, 1, false);
    if (other != 0) { // which it only knows when all ResourceManagers are its own
      java.lang.reflect.Field ids = MiniYARNCluster.class.getDeclaredField("rmIds");
      ids.setAccessible(true);
      ids.set(cluster, new String[] {"rm1"});
    }
    cluster.init(new YarnConfiguration());
    cluster.start();
    serve(port + 6, cluster);
    stop.await();
    // cluster.stop() would take 17 s for each NodeManager. The ResourceManager first, or it starts ApplicationMasters again; then all containers.
    try { cluster.stopResourceManager(0); } catch (Throwable t) { t.printStackTrace(); }
    for (String signal : List.of("-TERM", "-KILL", "-KILL")) {
      List<String> kill = new ArrayList<>(List.of("kill", signal, "--"));
      ProcessHandle.current().descendants().forEach(h -> { kill.add("-" + h.pid()); kill.add("" + h.pid()); });
      if (kill.size() == 3) break;
      new ProcessBuilder(kill).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
      Thread.sleep(200);
    }
    stopped.countDown();
    Runtime.getRuntime().halt(0);
  }

  static String addresses(String id, int port) {
    String s = ADDRESSES.replace("@ID", id);
    for (int i = 0; i < 5; i++) s = s.replace("@" + i, "" + (port + i));
    return s;
  }

  /** Answers once everything is up, and does what only the JVM itself can. */
  static void serve(int port, MiniYARNCluster cluster) throws IOException {
    HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    s.createContext("/", x -> {
      String said = "ok";
      int code = 200;
      try {
        switch (x.getRequestURI().getPath()) {
          case "/stop-rm": cluster.stopResourceManager(0); break;
          case "/start-rm": cluster.restartResourceManager(0); break;
          case "/": break;
          default: code = 404;
        }
      } catch (Throwable t) { t.printStackTrace(); said = t.toString(); code = 500; }
      byte[] b = said.getBytes();
      x.sendResponseHeaders(code, b.length);
      x.getResponseBody().write(b);
      x.close();
    });
    s.start();
  }
}
