import { setTimeout as sleep } from 'node:timers/promises'
import type { ComposeFile } from '@plainpath/topology/read-manifests'
import type { Engine } from './engine.ts'
import { listDependencies, translateNetworks, translateService } from './translate-compose.ts'

/** The services that `runTopology` has started. */
export interface Topology {
  /** Seconds from the start of each service until it was healthy, or had finished if it is a job. */
  readonly startSeconds: ReadonlyMap<string, number>
  /** Seconds from the creation of the first network until every service was healthy and every job had finished. */
  readonly seconds: number
  /** Runs a program in the container of a service. */
  exec(service: string, ...args: readonly string[]): Promise<string>
  /** Runs another command in a new container of the service, as `docker compose run` does. */
  runOnce(service: string, ...command: readonly string[]): Promise<string>
  waitUntilHealthy(service: string): Promise<void>
}

const HEALTHY_TIMEOUT_MS = 240_000
const POLL_MS = 100
/** The ulimits are low, because a container cannot exceed the limits of its host. */
const LIMITS = ['--ulimit=nofile=20000:20000', '--ulimit=nproc=20000:20000']

/** Starts the services of compose.yaml in the order of their dependencies, except omitted ones and those with a profile. */
export async function runTopology(
  engine: Engine,
  compose: ComposeFile,
  options: {
    composeFolder: string
    secretsFolder: string
    omittedServices: readonly string[]
    print: (line: string) => void
  },
): Promise<Topology> {
  const topologyStartedAt = performance.now()
  const startSeconds = new Map<string, number>()
  for (const args of translateNetworks(compose)) await engine.podman('network', 'create', ...args)
  const services = Object.entries(compose.services).filter(
    ([name, { profiles }]) => profiles.length === 0 && !options.omittedServices.includes(name),
  )
  // A service is a job if another service waits until it has finished.
  const isJob = (name: string) =>
    services.some(([, service]) =>
      listDependencies(service).some(
        ([dependency, condition]) => dependency === name && condition.endsWith('completed_successfully'),
      ),
    )
  const exec = (service: string, ...args: readonly string[]) => engine.podman('exec', service, ...args)

  const isRunning = async (name: string) =>
    (await engine.podman('inspect', '--format', '{{.State.Running}}', name)) === 'true'

  async function isHealthy(name: string): Promise<boolean> {
    const [kind, ...args] = compose.services[name]?.healthcheck?.test ?? []
    if (!kind) return isRunning(name)
    const healthCommand = kind === 'CMD-SHELL' ? ['sh', '-c', ...args] : args
    return (await engine.tryPodman('exec', name, ...healthCommand)).code === 0
  }

  async function waitUntilHealthy(name: string): Promise<void> {
    for (
      const deadline = performance.now() + HEALTHY_TIMEOUT_MS;
      performance.now() < deadline;
      await sleep(POLL_MS)
    ) {
      if (await isHealthy(name)) return
      if (!(await isRunning(name))) break
    }
    const { stdout, stderr } = await engine.tryPodman('logs', '--tail', '20', name)
    throw new Error(`${name} did not become healthy:\n${stdout}\n${stderr}`)
  }

  const startPromises = new Map<string, Promise<void>>()
  const start = (name: string): Promise<void> => {
    const startPromise = startPromises.get(name) ?? startAfterDependencies(name)
    startPromises.set(name, startPromise)
    return startPromise
  }
  async function startAfterDependencies(name: string): Promise<void> {
    const service = compose.services[name]
    if (!service) throw new Error(`compose.yaml has no service ${name}`)
    const dependencies = listDependencies(service)
    await Promise.all(dependencies.map(([dependency]) => start(dependency)))
    const startedAt = performance.now()
    const args = translateService(compose, name, options)
    await engine.podman('run', ...(isJob(name) ? [] : ['--detach']), ...LIMITS, '--name', name, ...args)
    if (!isJob(name)) await waitUntilHealthy(name)
    startSeconds.set(name, (performance.now() - startedAt) / 1000)
    options.print(
      `${name}: ${isJob(name) ? 'done' : 'healthy'} after ${startSeconds.get(name)?.toFixed(1)} s`,
    )
  }
  await Promise.all(services.map(([name]) => start(name)))
  // A service without a health check counts as healthy when it starts, so it may have exited since.
  for (const [name] of services)
    if (!isJob(name) && !(await isRunning(name))) throw new Error(`${name} exited`)
  return {
    startSeconds,
    seconds: (performance.now() - topologyStartedAt) / 1000,
    exec,
    runOnce: (service, ...command) =>
      engine.podman('run', '--rm', ...LIMITS, ...translateService(compose, service, { ...options, command })),
    waitUntilHealthy,
  }
}
