import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import type { Engine } from './engine.ts'
import { qualifyImage } from './translate-compose.ts'

/** The CA certificates that this machine trusts. If a proxy is in front of the npm registry, its certificate is among them. */
export const TRUSTED_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const DEBIAN_SUITE = 'bookworm'
/** The Debian packages of which the stand-in for `gcr.io/distroless/cc-debian12` consists. */
const DISTROLESS_PACKAGES = ['base-files', 'tzdata', 'libc6', 'libgcc-s1', 'gcc-12-base', 'libstdc++6']
/** The Debian packages that the stand-ins for service images contain. */
const SERVICE_PACKAGES = ['caddy', 'postgresql', 'prometheus', 'redis-server']

const STAND_INS = path.join(import.meta.dirname, 'stand-ins')
const run = (program: string, ...args: string[]) =>
  promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024 })

/** The base images that the Dockerfile names. */
interface BaseNames {
  readonly node: string
  readonly distroless: string
}

/**
 * Reads the names of the base images in the Dockerfile.
 *
 * @throws {Error} when a stage has another base
 */
export function readBaseNames(dockerfile: string): BaseNames {
  const version = /^ARG NODE=(\S+)$/m.exec(dockerfile)?.[1] ?? ''
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)]
    .map(([, name = '']) => name.replace('${NODE}', version))
    // The name of an earlier stage has neither a slash nor a colon.
    .filter((name) => /[/:]/.test(name))
  const node = bases.find((name) => name === `node:${version}-${DEBIAN_SUITE}-slim`)
  const distroless = bases.find((name) => name === 'gcr.io/distroless/cc-debian12:nonroot')
  if (!node || !distroless || bases.length !== 2)
    throw new Error(`no stand-in for one of the base images ${bases.join(', ')}`)
  return { node: `docker.io/library/${node}`, distroless }
}

/**
 * Creates stand-ins for the base images of the Dockerfile and the other images of compose.yaml, from Debian's packages and the
 * Node that runs this program.
 *
 * @param options.images the third-party images that compose.yaml names
 * @param options.cacheFolder the folder in which the Debian system stays for the next run
 * @returns the images that have no stand-in
 */
export async function createBaseImages(
  engine: Engine,
  options: { names: BaseNames; images: readonly string[]; cacheFolder: string; workFolder: string },
): Promise<string[]> {
  const { names, cacheFolder, workFolder } = options
  // With `--keep-images`, the images of an earlier run may exist.
  const imageExists = async (name: string) => (await engine.tryPodman('image', 'exists', name)).code === 0
  const system = await installDebian(cacheFolder)
  if (!(await imageExists(names.node))) {
    await addNode(system, path.join(workFolder, 'node'))
    await engine.importImage(path.join(workFolder, 'node'), names.node)
  }
  if (!(await imageExists(names.distroless))) {
    await unpackDistroless(system, path.join(workFolder, 'distroless'))
    await engine.importImage(path.join(workFolder, 'distroless'), names.distroless, ['USER 65532'])
  }
  return createServiceImages(engine, options)
}

/** Installs a minimal Debian with `debootstrap`, unless the cache contains one. Returns its folder. */
async function installDebian(cacheFolder: string): Promise<string> {
  const system = path.join(cacheFolder, DEBIAN_SUITE)
  // After an interrupted run, this file is missing, and the folder is incomplete.
  const completionMarker = path.join(cacheFolder, `${DEBIAN_SUITE}.complete`)
  if (await readFile(completionMarker).catch(() => undefined)) return system
  await rm(system, { recursive: true, force: true })
  await mkdir(cacheFolder, { recursive: true })
  await run('debootstrap', '--variant=minbase', DEBIAN_SUITE, system)
  await writeFile(completionMarker, '')
  return system
}

/** Copies the Debian system, and adds this machine's Node, npm, apt configuration and certificates. */
async function addNode(system: string, folder: string) {
  await run('cp', '--archive', system, folder)
  await run('cp', '--recursive', '/etc/apt/apt.conf.d', path.join(folder, 'etc/apt'))
  await mkdir(path.join(folder, 'etc/ssl/certs'), { recursive: true })
  await cp(TRUSTED_CERTIFICATES, path.join(folder, TRUSTED_CERTIFICATES))
  await mkdir(path.join(folder, 'usr/local/lib/node_modules'), { recursive: true })
  await cp(process.execPath, path.join(folder, 'usr/local/bin/node'), { dereference: true })
  // `npm run` sets `npm_execpath`.
  const npmCli = await realpath(process.env['npm_execpath'] ?? '/usr/bin/npm')
  const npm = path.join(path.dirname(npmCli), '..')
  await run('cp', '--recursive', '--dereference', npm, path.join(folder, 'usr/local/lib/node_modules/npm'))
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', path.join(folder, 'usr/local/bin/npm'))
}

/** Unpacks the packages of the distroless image, and adds certificates and users. */
async function unpackDistroless(system: string, folder: string) {
  const archives = path.join(system, 'var/cache/apt/archives')
  const archiveNames = await readdir(archives)
  for (const name of DISTROLESS_PACKAGES) {
    const file = archiveNames.find((archiveName) => archiveName.startsWith(`${name}_`))
    if (!file) throw new Error(`debootstrap did not install ${name}`)
    await mkdir(folder, { recursive: true })
    await run('dpkg-deb', '--extract', path.join(archives, file), folder)
  }
  for (const unneededFolder of ['usr/share/doc', 'usr/share/locale', 'usr/share/lintian'])
    await rm(path.join(folder, unneededFolder), { recursive: true, force: true })
  await mkdir(path.join(folder, 'etc/ssl/certs'), { recursive: true })
  await cp(TRUSTED_CERTIFICATES, path.join(folder, TRUSTED_CERTIFICATES))
  const users = [
    'root:x:0:0:root:/root:/sbin/nologin',
    'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin',
  ]
  await writeFile(path.join(folder, 'etc/passwd'), `${users.join('\n')}\n`)
}

const DEBIAN_SERVICES = 'localhost/debian-services'
/** The Dockerfile lines of each stand-in, by the image name in compose.yaml without its tag. */
const SERVICE_IMAGE_LINES: Readonly<Record<string, readonly string[]>> = {
  caddy: ['CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]'],
  postgres: [
    'COPY postgres-entrypoint.sh /usr/local/bin/',
    'ENTRYPOINT ["sh", "/usr/local/bin/postgres-entrypoint.sh"]',
  ],
  redis: ['WORKDIR /data', 'ENTRYPOINT []'],
  'prom/prometheus': [
    'RUN mkdir -p /prometheus && chown 65534:65534 /prometheus',
    'USER 65534',
    'WORKDIR /prometheus',
    // Debian's build has another default path.
    'ENTRYPOINT ["prometheus", "--storage.tsdb.path=/prometheus/data"]',
  ],
  'axllent/mailpit': ['COPY mail.mjs /usr/local/bin/', 'ENTRYPOINT ["node", "/usr/local/bin/mail.mjs"]'],
}

/** Creates stand-ins for service images. Returns the images that have none. */
async function createServiceImages(
  engine: Engine,
  { names, images, workFolder }: { names: BaseNames; images: readonly string[]; workFolder: string },
): Promise<string[]> {
  const context = path.join(workFolder, 'services')
  await mkdir(context, { recursive: true })
  await cp(path.join(STAND_INS, 'postgres-entrypoint.sh'), path.join(context, 'postgres-entrypoint.sh'))
  await build({
    input: path.join(STAND_INS, 'mail.ts'),
    platform: 'node',
    output: { file: path.join(context, 'mail.mjs'), format: 'esm', codeSplitting: false },
  })
  const buildImage = async (name: string, lines: readonly string[]) => {
    await writeFile(path.join(context, 'Dockerfile'), `${lines.join('\n')}\n`)
    await engine.buildah('bud', ...BUILD_OPTIONS, '--layers', '--tag', name, context)
  }
  await buildImage(DEBIAN_SERVICES, [
    `FROM ${names.node}`,
    // Packages must not start their services. 101 means that `policy-rc.d` forbids the start.
    "RUN printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d",
    // Debian's PostgreSQL package creates a cluster, but `postgres-entrypoint.sh` creates its own.
    `RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${SERVICE_PACKAGES.join(' ')} && rm -rf /var/lib/postgresql/*`,
  ])
  const imagesWithoutStandIn: string[] = []
  for (const image of new Set(images)) {
    const lines = SERVICE_IMAGE_LINES[image.replace(/:[^:]*$/, '')]
    if (lines) await buildImage(qualifyImage(image), [`FROM ${DEBIAN_SERVICES}`, ...lines])
    else imagesWithoutStandIn.push(image)
  }
  return imagesWithoutStandIn
}

/** Options of `buildah bud`. The ulimits are low, because a build cannot exceed the limits of its host. */
export const BUILD_OPTIONS: readonly string[] = [
  '--isolation=chroot',
  '--network=host',
  '--pull-never',
  '--ulimit=nofile=20000:20000',
  '--ulimit=nproc=20000:20000',
]
