import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { takeLock } from './lock.mjs'
import { checkLibrary, Refusal } from './machine.mjs'
import { PNPM_FOLDER, pnpmPackage, pnpmProgram } from './pnpm.mjs'

const INSTALL_LIMIT_SECONDS = 900
const QUIET_SECONDS = 30
const KILL_AFTER_SECONDS = 5
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

const NETWORK_FAILURE =
  /ENOTFOUND|EAI_AGAIN|ECONN(?:REFUSED|RESET)|E?TIMEDOUT|ENETUNREACH|EHOSTUNREACH|CERT_|ERR_PNPM_META_FETCH_FAIL|ENOTCACHED/
/** Matches the errors of npm and pnpm for a package without the SHA-512 of the lockfile. */
const INTEGRITY_FAILURE = /EINTEGRITY|ERR_PNPM_TARBALL_INTEGRITY/

/**
 * Installs the pinned dependencies, including Node, unless they are installed. Simultaneous calls run one after the other.
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
    !existsSync(npmMarkerFile(root)) &&
    foldersWithDependencies(root).every((folder) => existsSync(path.join(folder, 'node_modules'))) &&
    readFileSync(stamp, 'utf8') === wantedInstallation(root)
  )
}

/** The file of an earlier `npm install`, which would mix other versions with the pinned ones. @param {string} root */
const npmMarkerFile = (root) => path.join(root, 'node_modules', '.package-lock.json')

/** @param {string} root */
async function install(root) {
  const stamp = path.join(root, 'node_modules', '.bootstrap')
  rmSync(stamp, { force: true })
  rmSync(npmMarkerFile(root), { force: true })
  const installation = wantedInstallation(root)
  const started = Date.now()
  const seconds = () => ((Date.now() - started) / 1000).toFixed(1)

  process.stderr.write('Installing pinned dependencies … ')
  const { failure, output, shown } = await runInstallers(root)
  if (failure === undefined && existsSync(path.join(root, 'node_modules', '.bin', 'node'))) {
    console.error(`${seconds()} s`)
    writeFileSync(stamp, installation)
    return
  }
  console.error(shown ? '' : `failed\n\n${output.trimEnd()}\n`)
  const reason = NETWORK_FAILURE.test(output)
    ? 'the package registry does not answer. Check the network and `npm config get registry`, then run the command again.'
    : INTEGRITY_FAILURE.test(output + failure)
      ? 'the registry gave something else than the lockfile names, and nothing of it was run. Check `npm config get registry`.'
      : `${failure ?? 'pnpm installed no Node'}, and says why above.`
  throw new Refusal(`Could not install the pinned dependencies (${seconds()} s): ${reason}`)
}

function glibcVersion() {
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport())
  return report.header.glibcVersionRuntime
}

/**
 * Installs the pinned pnpm with npm, which verifies the SHA-512 in `pnpm/package-lock.json` and runs no script of it, then
 * runs pnpm. Shows the output only after `QUIET_SECONDS`, when a person might wonder what takes so long.
 *
 * @param {string} root
 * @returns {Promise<{ failure?: string, output: string, shown: boolean }>} `failure` says which program ended, and how
 * @throws {Refusal} when npm cannot be started, or a signal asks us to stop.
 */
async function runInstallers(root) {
  const transcript = newTranscript()
  const showing = setTimeout(transcript.show, QUIET_SECONDS * 1000)
  try {
    const failure = await bringPnpm(root, transcript)
    if (failure !== undefined) return { failure, ...transcript.end() }
    const options = ['--frozen-lockfile', '--reporter=append-only', '--config.confirmModulesPurge=false']
    const code = await runInstaller(pnpmProgram(root), ['install', ...options], { cwd: root, transcript })
    return { ...(code !== 0 && { failure: `pnpm ended with ${code}` }), ...transcript.end() }
  } finally {
    clearTimeout(showing)
  }
}

/**
 * @param {string} root
 * @param {Transcript} transcript
 * @returns {Promise<string | undefined>} the failure; undefined on success
 */
async function bringPnpm(root, transcript) {
  const options = ['--ignore-scripts', '--prefer-offline', '--fetch-retries=1', '--no-audit', '--no-fund']
  const code = await runInstaller('npm', ['ci', ...options], {
    cwd: path.join(root, PNPM_FOLDER),
    transcript,
  })
  if (code !== 0) return `npm ended with ${code}`
  // Packages for one platform are optional for npm, which skips one that does not match.
  return existsSync(pnpmProgram(root)) ? undefined : `npm left out ${pnpmPackage()}: EINTEGRITY`
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, transcript: Transcript }} options
 * @returns {Promise<number | string>} the exit code, or the name of the signal that ended it
 * @throws {Refusal} when it cannot be started, or a signal asks us to stop.
 */
function runInstaller(program, args, { cwd, transcript }) {
  let end = () => {}
  // Registered before the child starts: otherwise a signal could end this process and leave the child running.
  const stopListening = onFirstSignal(() => end())
  // A process group of its own, to end all of it: npm does not pass on every signal.
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, npm_config_update_notifier: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', transcript.add)
    end = () => {
      killGroup(child.pid, 'SIGTERM')
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_SECONDS * 1000).unref()
    }
    const limit = setTimeout(end, INSTALL_LIMIT_SECONDS * 1000)
    child.on('error', () => {
      clearTimeout(limit)
      stopListening()
      reject(new Refusal(`\nPlainpath needs npm: the program \`${program}\` could not be started.`))
    })
    child.on('close', (code, killedBy) => {
      clearTimeout(limit)
      const signal = stopListening()
      if (signal) reject(new Refusal('stopped.', 128 + os.constants.signals[signal]))
      else resolve(code ?? String(killedBy))
    })
  })
}

/** @typedef {ReturnType<typeof newTranscript>} Transcript */

/** Collects the output of installers until `show` is called, and prints it from then on. */
function newTranscript() {
  let output = ''
  let shown = false
  return {
    add(/** @type {string} */ chunk) {
      output += chunk
      if (shown) process.stderr.write(chunk)
    },
    show() {
      shown = true
      process.stderr.write(`\n${output}`)
    },
    end: () => ({ output, shown }),
  }
}

/** @param {number | undefined} pid @param {NodeJS.Signals} signal */
function killGroup(pid, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The group has already ended.
  }
}

/**
 * @param {() => void} act
typeof SIGNALS[number] | undefined} stops listening and tells which signal came first =>  * @returns {() => typeof SIGNALS[number] | undefined} stops listening and returns the first signal => typeof SIGNALS[number] | undefined} stops listening and tells which signal came first
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
 * Identifies the installation that the checkout needs. The value changes whenever a dependency may have changed.
 *
 * @param {string} root
 */
function wantedInstallation(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`)
  const manifests = workspaceFolders(root).map((folder) => path.join(folder, 'package.json'))
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', path.join(PNPM_FOLDER, 'package-lock.json')])
    manifests.push(path.join(root, name))
  for (const manifest of manifests)
    hash.update(`\0${path.relative(root, manifest)}\0`).update(readFileSync(manifest))
  return hash.digest('hex')
}
