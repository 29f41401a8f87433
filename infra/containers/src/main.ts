import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { createComposeSecrets } from '@plainpath/stack/compose-secrets'
import { readCompose } from '@plainpath/topology/read-manifests'
import { BUILD_OPTIONS, createBaseImages, readBaseNames, TRUSTED_CERTIFICATES } from './base-images.ts'
import { openEngine } from './engine.ts'
import { proveHardening } from './hardening.ts'
import { measureImages } from './measure-images.ts'
import type { ResultRow } from './proof.ts'
import { proveJourney, proveNetworks, proveRevocation, proveRotation, proveStop } from './proofs.ts'
import { provePods } from './prove-pods.ts'
import { renderResults } from './results-document.ts'
import { runTopology } from './run-topology.ts'
import { qualifyImage } from './translate-compose.ts'

const HELP = `npm run test:containers -- [options]
Builds infra/Dockerfile, runs the topology of infra/compose.yaml with podman and runc, checks it (hardening, networks, an agent's
journey, revocation, key rotation, shutdown and Kubernetes pods), and writes infra/containers/RESULTS.md.
Run it as root on Debian 12. It needs no image registry: base images and third-party images are stand-ins, made from Debian's
packages and the pinned Node.

It installs the Debian packages podman, buildah, runc, netavark, aardvark-dns, catatonit, iptables and debootstrap, unless they are
installed, and does not remove them. It removes its images, containers, networks, volumes and secrets. It keeps a minimal
Debian in .data/containers for the next run: delete that folder when you no longer need it.

  --port <number>        port of the gateway (default 18080); the mail catcher gets the next one
  --keep-images          also keeps the images, in .data/containers, and uses those of an earlier run
  --dockerfile <file>    builds this file instead of infra/Dockerfile, and only measures sizes and times: skips the checks and
                         writes no results`

const PACKAGES = [
  'podman',
  'buildah',
  'runc',
  'netavark',
  'aardvark-dns',
  'catatonit',
  'iptables',
  'debootstrap',
]
const ROOT = path.resolve(import.meta.dirname, '../../..')
const INFRA = path.join(ROOT, 'infra')
const RESULTS = path.join(INFRA, 'containers/RESULTS.md')
const CACHE = path.join(ROOT, '.data/containers')

const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: '18080' },
    dockerfile: { type: 'string', default: path.join(INFRA, 'Dockerfile') },
    'keep-images': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const print = (line: string) => process.stdout.write(`${line}\n`)

async function installPackages(): Promise<void> {
  const isInstalled = (name: string) =>
    promisify(execFile)('dpkg', ['--status', name]).then(
      () => true,
      () => false,
    )
  const installed = await Promise.all(PACKAGES.map(isInstalled))
  const missingPackages = PACKAGES.filter((_, index) => !installed[index])
  if (missingPackages.length === 0) return
  print(`Installing ${missingPackages.join(', ')}`)
  await promisify(execFile)('apt-get', ['install', '-y', '--no-install-recommends', ...missingPackages])
}

async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('Run this as root: it creates networks and containers.')
  await installPackages()
  const port = Number(options.port)
  const compose = readCompose({ PLAINPATH_PORT: String(port), PLAINPATH_MAIL_PORT: String(port + 1) })
  const origin = `http://localhost:${port}`
  const workFolder = await mkdtemp(path.join(os.tmpdir(), 'plainpath-containers-'))
  await using resources = new AsyncDisposableStack()
  resources.defer(() => rm(workFolder, { recursive: true, force: true }))
  const keepImages = options['keep-images']
  const engine = resources.use(
    await openEngine(path.join(keepImages ? CACHE : workFolder, 'engine'), { keepImages }),
  )
  /** Runs a step, prints its duration, and returns its result. */
  const runTimed = async <T>(step: string, action: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    const result = await action()
    print(`${step}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
    return result
  }

  const names = readBaseNames(await readFile(options.dockerfile, 'utf8'))
  const thirdPartyImages = Object.values(compose.services)
    // Services with a profile are not started.
    .filter(({ profiles, image }) => profiles.length === 0 && !image.startsWith('plainpath/'))
    .map(({ image }) => image)
  const imagesWithoutStandIn = await runTimed('stand-ins for base images', () =>
    createBaseImages(engine, { names, images: thirdPartyImages, cacheFolder: CACHE, workFolder }),
  )
  const omittedServices = Object.entries(compose.services)
    .filter(([, { image }]) => imagesWithoutStandIn.includes(image))
    .map(([name]) => name)
  const builds: ResultRow[] = []
  for (const app of ['auth', 'resource'] as const) {
    const startedAt = performance.now()
    // The Dockerfile needs a CA only if a proxy is in front of the npm registry. This machine then trusts the proxy's CA too.
    const secret = `--secret=id=company-ca,src=${TRUSTED_CERTIFICATES}`
    const args = ['--layers', secret, '--file', options.dockerfile, '--target', app]
    await engine.buildah('bud', ...BUILD_OPTIONS, ...args, '--tag', qualifyImage(`plainpath/${app}`), ROOT)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    builds.push({
      subject: `build of ${app}`,
      observed: `${seconds} s${app === 'resource' ? ', reusing the layers of auth' : ''}`,
    })
    print(`build of ${app}: ${seconds} s`)
  }

  const secretsFolder = path.join(workFolder, 'secrets')
  await createComposeSecrets(secretsFolder, origin)
  const topology = await runTopology(engine, compose, {
    composeFolder: INFRA,
    secretsFolder,
    omittedServices,
    print,
  })
  print(`start of the topology: ${topology.seconds.toFixed(1)} s`)
  const runningTopology = { engine, topology, origin, mailUrl: `http://localhost:${port + 1}` }
  const sections: [title: string, rows: ResultRow[]][] = [['Build', builds]]
  const measurements = await runTimed('measurements', () => measureImages(runningTopology))
  for (const { subject, observed } of measurements) print(`${subject}: ${observed}`)
  sections.push(['Size, memory and time', measurements])
  // Another Dockerfile is only measured.
  if (options.dockerfile !== path.join(INFRA, 'Dockerfile')) return
  // The pods come last, because they replace the instances of compose.yaml.
  for (const [title, prove] of [
    ['Hardening', proveHardening],
    ['Networks', proveNetworks],
    ['Journey', proveJourney],
    ['Revocation', proveRevocation],
    ['Rotation', proveRotation],
    ['Stopping', proveStop],
    ['Kubernetes pods', (started) => provePods(started, { compose, secretsFolder, workFolder })],
  ] satisfies [string, (started: typeof runningTopology) => Promise<ResultRow[]>][]) {
    const rows = await runTimed(title, () => prove(runningTopology))
    for (const { subject, observed } of rows) print(`  ${subject}: ${observed}`)
    sections.push([title, rows])
  }
  await writeFile(RESULTS, await renderResults({ topology, sections, omittedServices, engine }))
  print(`Wrote ${path.relative(ROOT, RESULTS)}`)
}

if (options.help) print(HELP)
else await main()
