import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { startStack } from '@plainpath/stack/start-stack'
import { createFaultProxies } from '../faults/fault-proxies.ts'
import { startFaultyMailServer } from '../faults/faulty-mail-server.ts'
import { recordTokenLoss } from '../faults/ledger.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { createMailSettings } from '../verification-steps.ts'
import { LEDGER_SIZE, rehearseUnderLoad } from './phases.ts'
import type { Rehearsal, RehearsalOptions, RehearsalResult } from './rehearsal.ts'
import { DOWN_AFTER_MS, startSentinels } from './start-sentinels.ts'

export const FAILOVER: Rehearsal = {
  title: 'Redis fails over by Sentinel',
  description: `Redis had a replica, and three Sentinels with a quorum of two, \`down-after-milliseconds ${DOWN_AFTER_MS}\` and \`repl-backlog-ttl 0\`. The apps reached
Redis at one address, which moved to the new primary at \`+switch-master\`; connections to the old one were cut then.`,
  run: rehearseFailover,
}

/** The effects allowed while the apps cannot reach Redis. The grace period covers one lease, because revocations wait that long after a switch. */
const REDIS_UNAVAILABLE = { components: ['redis'], graceMs: 10_000 } as const

async function rehearseFailover({ rate, seconds, print }: RehearsalOptions): Promise<RehearsalResult> {
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await createTemporaryFolder('failover'))
  const mailServer = resources.use(await startFaultyMailServer())
  const proxies = resources.use(createFaultProxies())
  const stack = resources.use(
    await startStack({
      folder,
      limitsFactor: 1_000_000,
      settings: createMailSettings(mailServer),
      redirectStores: async (stores) => ({
        ...stores,
        AUTH_REDIS_URL: await proxies.addProxy('auth redis', stores.AUTH_REDIS_URL),
        RESOURCE_REDIS_URL: await proxies.addProxy('api redis', stores.RESOURCE_REDIS_URL),
      }),
    }),
  )
  const sentinels = resources.use(
    await startSentinels(stack.redis, { folder, onSwitch: proxies.redirectRedis }),
  )
  const ledger = await prepareLedger(stack.origin, { mail: mailServer, size: LEDGER_SIZE })
  print('the load begins')
  const notes: string[] = []
  const { phases, lost } = await rehearseUnderLoad(
    { origin: stack.origin, ledger, rate },
    async ({ runPhase, waitForLoad }) => {
      /** Causes a failover, and waits until the address leads to the new primary. This invalidates all earlier tokens. */
      const switchOver = async (cause: string, replacePrimary: () => Promise<unknown>) => {
        const oldPrimary = sentinels.getPrimary()
        const brokenAt = performance.now()
        await recordTokenLoss(ledger, async () => {
          await replacePrimary()
          await sentinels.waitForSwitch(oldPrimary)
        })
        const repairedAt = performance.now()
        notes.push(`${cause}: the address moved after ${((repairedAt - brokenAt) / 1_000).toFixed(1)} s.`)
        await waitForLoad(seconds)
        return repairedAt
      }
      await runPhase('a primary, a replica, three Sentinels', () => waitForLoad(seconds))
      await runPhase('the replica is killed and later restarted', async () => {
        const { process } = sentinels.getReplica()
        await process.stop('SIGKILL')
        await waitForLoad(seconds)
        await process.start()
        await sentinels.waitForReplication()
        await waitForLoad(seconds)
      })
      const killedPrimary = sentinels.getPrimary()
      const kill = () => killedPrimary.process.stop('SIGKILL')
      await runPhase('the primary is killed', () => switchOver('Killed', kill), REDIS_UNAVAILABLE)
      await runPhase('the old primary is started, and becomes the replica', async () => {
        await killedPrimary.process.start()
        await sentinels.waitForReplication()
        await waitForLoad(seconds)
      })
      const failOver = () => sentinels.failOver()
      await runPhase(
        'an operator switches (SENTINEL FAILOVER)',
        () => switchOver('Switched', failOver),
        REDIS_UNAVAILABLE,
      )
      await runPhase('the old primary is the replica', async () => {
        await sentinels.waitForReplication()
        await waitForLoad(seconds)
      })
      const frozenProcess = sentinels.getPrimary().process.child
      const freeze = async () => void frozenProcess.kill('SIGSTOP')
      await runPhase('the primary freezes', () => switchOver('Frozen', freeze), REDIS_UNAVAILABLE)
      await runPhase('the old primary continues, and becomes the replica', async () => {
        frozenProcess.kill('SIGCONT')
        await sentinels.waitForReplication()
        await waitForLoad(seconds)
      })
    },
  )
  const instances = [...stack.auth, ...stack.resource]
  const mistakes = instances.flatMap(({ name, isRunning }) =>
    isRunning ? [] : [`${name} exited during the rehearsal`],
  )
  return {
    phases,
    lost,
    mistakes,
    tests: [],
    notes: [
      ...notes,
      `Checked at the end: ${ledger.agents.length} agents, ${ledger.addresses.length} addresses, ${ledger.revokedTokens.length} revoked tokens. Tokens from before a switch are invalid, which is not counted as lost.`,
    ],
  }
}
