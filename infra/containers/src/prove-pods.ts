import { HARDENED, observeHardening } from './hardening.ts'
import { type PlayOptions, playDeployments, playKeysJob } from './play-manifests.ts'
import { expectEqual, type ResultRow, type RunningTopology } from './proof.ts'
import { proveRevocation, waitUntilSteady } from './proofs.ts'

/** Removes the instances of compose.yaml, and proves that the pods of infra/kubernetes/base run in their place. */
export async function provePods(running: RunningTopology, options: PlayOptions): Promise<ResultRow[]> {
  const { engine, origin } = running
  await engine.podman('rm', '--force', '--time', '30', 'auth-1', 'auth-2', 'resource-1', 'resource-2')
  const startedAt = performance.now()
  const containers = await playDeployments(engine, options)
  for (const path of ['/oauth/jwks.json', '/api/guides']) await waitUntilSteady(`${origin}${path}`)
  const seconds = (performance.now() - startedAt) / 1000
  const names = [...containers.auth, ...containers.resource]
  expectEqual('the number of containers', names.length, 4)
  for (const name of names) {
    const observation = (await observeHardening(running, name, '/run/plainpath')) as Record<string, unknown>
    // The manifest of a pod cannot set the limit of core dumps, so it is not compared.
    const { cores: _, ...comparedFields } = observation
    expectEqual(name, comparedFields, HARDENED)
  }
  const revocation = await proveRevocation(running, containers)
  const jobOutput = await playKeysJob(engine, options)
  return [
    {
      subject:
        'the Deployments `auth` and `resource`, two pods each, with their ConfigMaps and example Secrets',
      observed: `they respond through the gateway within ${seconds.toFixed(1)} s after podman began to start them; their containers are hardened as above`,
    },
    ...revocation,
    {
      subject: 'the pod of the CronJob `auth-keys`: `keys rotate`, then `keys verify`',
      observed: readLastLine(jobOutput),
    },
  ]
}

const readLastLine = (text: string) => text.trim().split('\n').at(-1) ?? ''
