import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { takeLock } from './lock.mjs'
import { checkLibrary, Refusal } from './machine.mjs'

const INSTALL_LIMIT_SECONDS = 900
const QUIET_SECONDS = 30
const KILL_AFTER_SECONDS = 5
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

const NETWORK_FAILURE =
  /ENOTFOUND|EAI_AGAIN|ECONN(?:REFUSED|RESET)|E?TIMEDOUT|ENETUNREACH|EHOSTUNREACH|CERT_|ERR_PNPM_META_FETCH_FAIL|ENOTCACHED/

/**
 * Installs the pinned dependencies, the pinned Node among them, unless they are there. Two calls at once take turns.
 *
 * @param {string} root
 * @throws {Refusal} when they cannot be installed; the next call tries again.
 */
export async function ensureInstalled(root) {
  if (isInstalled(root)) return
  checkLibrary(glibcVersion())
  const modules = path.join(root, 'node_modules')
  mkdirSync(modules, { recursive: true })
  const release = await takeLock(path.join(modules, '.bootstrap-lock'), {
    waitSeconds: INSTALL_LIMIT_SECONDS + 60,
    onWait: () => console.error('Waiting for another command that is installing the pinned dependencies'),
  })
  try {
    if (!isInstalled(root)) await install(root)
  } finally {
    release()
  }
}

/** @param {string} root */
function isInstalled(root) {
  const modules = path.join(root, 'node_modules')
  const stamp = path.join(modules, '.bootstrap')
  return (
    existsSync(stamp) &&
    existsSync(path.join(modules, '.bin', 'node')) &&
    !existsSync(npmTrace(root)) &&
    foldersWithDependencies(root).every((folder) => existsSync(path.join(folder, 'node_modules'))) &&
    readFileSync(stamp, 'utf8') === wantedInstallation(root)
  )
}

/** What `npm install` leaves behind, which mixes its own versions into the pinned ones. @param {string} root */
const npmTrace = (root) => path.join(root, 'node_modules', '.package-lock.json')

/** @param {string} root */
async function install(root) {
  const stamp = path.join(root, 'node_modules', '.bootstrap')
  rmSync(stamp, { force: true })
  rmSync(npmTrace(root), { force: true })
  const { packageManager } = /** @type {{ packageManager: string }} */ (
    JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  )
  const wanted = wantedInstallation(root)
  const started = Date.now()
  const seconds = () => ((Date.now() - started) / 1000).toFixed(1)

  process.stderr.write('Installing pinned dependencies … ')
  const { code, output, shown } = await runInstaller(root, packageManager)
  if (code === 0 && existsSync(path.join(root, 'node_modules', '.bin', 'node'))) {
    console.error(`${seconds()} s`)
    writeFileSync(stamp, wanted)
    return
  }
  console.error(shown ? '' : `failed\n\n${output.trimEnd()}\n`)
  const reason = NETWORK_FAILURE.test(output)
    ? 'the package registry does not answer. Check the network and `npm config get registry`, then run the command again.'
    : `${packageManager} ended with ${code} and says why above.`
  throw new Refusal(`Could not install the pinned dependencies (${seconds()} s): ${reason}`)
}

function glibcVersion() {
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport())
  return report.header.glibcVersionRuntime
}

/**
 * Runs the pinned pnpm, brought by npx. Its output is shown from `QUIET_SECONDS` on: then somebody wonders what it does.
 *
 * @param {string} root
 * @param {string} packageManager such as `pnpm@12.21.0`
 * @returns {Promise<{ code: number | string, output: string, shown: boolean }>} `code` may be the name of a signal
 * @throws {Refusal} when npx cannot be started, or a signal asks us to stop.
 */
function runInstaller(root, packageManager) {
  const npx = ['--yes', '--prefer-offline', '--fetch-retries=1', `--package=${packageManager}`, '--', 'pnpm']
  const pnpm = [
    'install',
    '--frozen-lockfile',
    '--reporter=append-only',
    '--config.confirmModulesPurge=false',
  ]
  let end = () => {}
  // Before there is a child: a signal that came right after would end us and leave it running.
  const stopListening = onFirstSignal(() => end())
  // A group of its own, so that it can be ended whole: npx does not pass every signal on.
  const child = spawn('npx', [...npx, ...pnpm], {
    cwd: root,
    env: { ...process.env, npm_config_update_notifier: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  return new Promise((resolve, reject) => {
    const transcript = collect([child.stdout, child.stderr])
    end = () => {
      killGroup(child.pid, 'SIGTERM')
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_SECONDS * 1000).unref()
    }
    const timers = [
      setTimeout(transcript.show, QUIET_SECONDS * 1000),
      setTimeout(end, INSTALL_LIMIT_SECONDS * 1000),
    ]
    child.on('error', () =>
      reject(new Refusal('\nPlainpath needs npm: its program `npx` could not be started.')),
    )
    child.on('close', (code, killedBy) => {
      for (const timer of timers) clearTimeout(timer)
      const signal = stopListening()
      if (signal) reject(new Refusal('stopped.', 128 + os.constants.signals[signal]))
      else resolve({ code: code ?? String(killedBy), output: transcript.text(), shown: transcript.isShown() })
    })
  })
}

/** @param {import('node:stream').Readable[]} streams */
function collect(streams) {
  let text = ''
  let shown = false
  for (const stream of streams)
    stream.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
      text += chunk
      if (shown) process.stderr.write(chunk)
    })
  return {
    text: () => text,
    isShown: () => shown,
    show() {
      shown = true
      process.stderr.write(`\n${text}`)
    },
  }
}

/** @param {number | undefined} pid @param {NodeJS.Signals} signal */
function killGroup(pid, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It ended by itself.
  }
}

/**
 * @param {() => void} act
 * @returns {() => typeof SIGNALS[number] | undefined} stops listening and tells which signal came first
 */
function onFirstSignal(act) {
  /** @type {typeof SIGNALS[number] | undefined} */
  let first
  /** @param {NodeJS.Signals} signal */
  const listener = (signal) => {
    if (first) return
    first = SIGNALS.find((known) => known === signal)
    act()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener)
    return first
  }
}

/**
 * Lists the folders of the workspace, the root first, as pnpm-workspace.yaml names them: `folder` or `folder/*`.
 *
 * @param {string} root
 */
function workspaceFolders(root) {
  const yaml = readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8')
  const entries = /^packages:\n((?: +- .+\n)+)/m.exec(yaml)?.[1]?.match(/[^\s'"-][^\s'"]*/g) ?? []
  const folders = entries.flatMap((entry) => {
    if (!entry.endsWith('/*')) return [path.join(root, entry)]
    const parent = path.join(root, entry.slice(0, -2))
    return existsSync(parent) ? readdirSync(parent).map((name) => path.join(parent, name)) : []
  })
  return [root, ...folders.filter((folder) => existsSync(path.join(folder, 'package.json'))).sort()]
}

/** @param {string} root */
function foldersWithDependencies(root) {
  return workspaceFolders(root).filter((folder) => {
    const manifest = /** @type {{ dependencies?: object, devDependencies?: object }} */ (
      JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    )
    return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).length > 0
  })
}

/**
 * Names the installation that the checkout asks for: it changes whenever a dependency may have.
 *
 * @param {string} root
 */
function wantedInstallation(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`)
  const manifests = workspaceFolders(root).map((folder) => path.join(folder, 'package.json'))
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) manifests.push(path.join(root, name))
  for (const manifest of manifests)
    hash.update(`\0${path.relative(root, manifest)}\0`).update(readFileSync(manifest))
  return hash.digest('hex')
}
