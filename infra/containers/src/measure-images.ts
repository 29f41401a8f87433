import { evaluateInContainer, expectEqual, type ResultRow, type RunningTopology } from './proof.ts'
import { qualifyImage } from './translate-compose.ts'

const APPS = ['auth', 'resource'] as const
/** Code that prints the resident memory of the first process, in MB. */
const PRINT_MEMORY = `console.log(Math.round(Number(fs.readFileSync('/proc/1/status', 'utf8').match(/VmRSS:\\s+(\\d+)/)[1]) / 1024))`
/**
 * The number of requests between the two measurements of memory. The rate limit permits more from one address in a minute. The
 * gateway spreads the requests over both instances, so the measured instance handles only a part of them.
 */
const LOADED_REQUESTS = 100

/**
 * Runs a command three times, and prints the shortest wall time and the shortest processor time in seconds. The source text of this
 * function is evaluated in a container, so the function must not refer to anything outside itself.
 *
 * The argument consists of the image's entry point (program and options) and the arguments of the app's command.
 */
function timeCommand([[program = '', ...options], commandArgs]: [string[], string[]]): void {
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const reportScript =
    'process.on("exit",()=>{const{user,system}=process.cpuUsage();console.error("cpu="+(user+system))})'
  const runs = Array.from({ length: 3 }, () => {
    const startedAt = performance.now()
    const args = [
      '--import',
      `data:text/javascript,${encodeURIComponent(reportScript)}`,
      ...options,
      ...commandArgs,
    ]
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`exited with code ${status}: ${stderr}`)
    return { wall: performance.now() - startedAt, cpu: Number(/cpu=(\d+)/.exec(stderr)?.[1]) / 1000 }
  })
  const formatLeastSeconds = (values: number[]) => (Math.min(...values) / 1000).toFixed(2)
  console.log(
    `${formatLeastSeconds(runs.map(({ wall }) => wall))} s (processor ${formatLeastSeconds(runs.map(({ cpu }) => cpu))} s)`,
  )
}

/** Measures the size of each app's image, the memory of one instance of each app, and the time of two commands. */
export async function measureImages(running: RunningTopology): Promise<ResultRow[]> {
  const { engine, origin } = running
  const readMemoryMb = async (name: string) => Number(await evaluateInContainer(running, name, PRINT_MEMORY))
  const proofs: ResultRow[] = []
  for (const app of APPS) {
    const sizeBytes = Number(
      await engine.podman('image', 'inspect', '--format', '{{.Size}}', qualifyImage(`plainpath/${app}`)),
    )
    const idleMb = await readMemoryMb(`${app}-2`)
    const url = app === 'auth' ? `${origin}/oauth/jwks.json` : `${origin}/api/guides`
    for (let requestCount = 0; requestCount < LOADED_REQUESTS; requestCount += 20)
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const response = await fetch(url)
          expectEqual(url, response.status, 200)
          await response.arrayBuffer()
        }),
      )
    const loadedMb = await readMemoryMb(`${app}-2`)
    const entryPoint = JSON.parse(
      await engine.podman(
        'image',
        'inspect',
        '--format',
        '{{json .Config.Entrypoint}}',
        qualifyImage(`plainpath/${app}`),
      ),
    ) as string[]
    const commands = app === 'auth' ? [['--help'], ['keys', 'list']] : [['--help'], ['guides', 'list']]
    const times: string[] = []
    for (const commandArgs of commands) {
      const code = `(${timeCommand.toString()})(${JSON.stringify([entryPoint, commandArgs])})`
      times.push(`\`${commandArgs.join(' ')}\` ${await evaluateInContainer(running, `${app}-1`, code)}`)
    }
    proofs.push({
      subject: `image and processes of ${app}`,
      observed: `${(sizeBytes / 1e6).toFixed(0)} MB; memory ${idleMb} MB idle, ${loadedMb} MB after ${LOADED_REQUESTS} requests; ${times.join(', ')}`,
    })
  }
  return proofs
}
