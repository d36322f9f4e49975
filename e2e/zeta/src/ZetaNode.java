import org.apache.seatunnel.engine.common.config.ConfigProvider;
import org.apache.seatunnel.engine.common.config.EngineConfig;
import org.apache.seatunnel.engine.common.config.SeaTunnelConfig;
import org.apache.seatunnel.engine.server.SeaTunnelServerStarter;

/** Starts one real Zeta node: java … ZetaNode master|worker|both. Its two configuration files are named by system properties. */
public class ZetaNode {
    public static void main(String[] args) {
        SeaTunnelConfig config = ConfigProvider.locateAndGetSeaTunnelConfig();
        if (args[0].equals("worker")) {
            config.getEngineConfig().setClusterRole(EngineConfig.ClusterRole.WORKER);
            config.getHazelcastConfig().setLiteMember(true);
        } else if (args[0].equals("both")) {
            config.getEngineConfig().setClusterRole(EngineConfig.ClusterRole.MASTER_AND_WORKER);
        } else {
            config.getEngineConfig().setClusterRole(EngineConfig.ClusterRole.MASTER);
        }
        SeaTunnelServerStarter.createHazelcastInstance(config, "main");
    }
}
