import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { takeLock } from './lock.mjs'
import { checkLibrary, Refusal } from './machine.mjs'
import { getPnpmPackage, getPnpmProgram, PNPM_FOLDER } from './pnpm.mjs'

/** The maximum run time of each installer: npm, then pnpm. */
const INSTALLER_LIMIT_SECONDS = 900
/** The time after which the output of the installers is shown. */
const QUIET_SECONDS = 30
/** The time between SIGTERM and SIGKILL. */
const KILL_AFTER_SECONDS = 5
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/** Matches the errors of Node, npm and pnpm if the registry cannot be reached, or its certificate is not accepted. */
const NETWORK_FAILURE =
  /ENOTFOUND|EAI_AGAIN|ECONN(?:REFUSED|RESET)|E?TIMEDOUT|ENETUNREACH|EHOSTUNREACH|CERT_|ERR_PNPM_META_FETCH_FAIL|ENOTCACHED/
/** Matches the errors of npm and pnpm for a package whose SHA-512 differs from that in the lockfile. */
const INTEGRITY_FAILURE = /EINTEGRITY|ERR_PNPM_TARBALL_INTEGRITY/

/**
 * Installs the pinned dependencies, including Node, unless they are already installed. Simultaneous calls run one after another.
 *
 * @param {string} root
 * @throws {Refusal} if the dependencies cannot be installed. The next call tries again.
 */
export async function ensureInstalled(root) {
  if (isInstalled(root)) return
  checkLibrary(readGlibcVersion())
  const modules = path.join(root, 'node_modules')
  mkdirSync(modules, { recursive: true })
  const release = await takeLock(path.join(modules, '.bootstrap-lock'), {
    // Longer than both installers of the other command may take.
    waitSeconds: 2 * INSTALLER_LIMIT_SECONDS + 60,
    onWait: () => console.error('Waiting for another command that is installing the pinned dependencies'),
  })
  try {
    if (!isInstalled(root)) await install(root)
  } finally {
    release()
  }
}

/**
 * Returns whether the pinned dependencies are installed. Compares manifests and lockfiles with those of the last installation. Of
 * the installed files, checks only that Node and each `node_modules` folder exist, and that `npm install` has not left its file.
 *
 * @param {string} root
 */
function isInstalled(root) {
  const modules = path.join(root, 'node_modules')
  const stampFile = path.join(modules, '.bootstrap')
  return (
    existsSync(stampFile) &&
    existsSync(path.join(modules, '.bin', 'node')) &&
    !existsSync(getNpmMarkerFile(root)) &&
    listFoldersWithDependencies(root).every((folder) => existsSync(path.join(folder, 'node_modules'))) &&
    readFileSync(stampFile, 'utf8') === identifyInstallation(root)
  )
}

/**
 * Returns the path of the file that `npm install` leaves in `node_modules` if it is run in the root. If the file exists, other versions
 * are mixed with the pinned ones.
 *
 * @param {string} root
 */
const getNpmMarkerFile = (root) => path.join(root, 'node_modules', '.package-lock.json')

/** @param {string} root */
async function install(root) {
  const stampFile = path.join(root, 'node_modules', '.bootstrap')
  // Without the stamp, an installation that is interrupted does not count as complete.
  rmSync(stampFile, { force: true })
  rmSync(getNpmMarkerFile(root), { force: true })
  // Computed before the installation: if a manifest changes meanwhile, the next command installs again.
  const installationId = identifyInstallation(root)
  const startedAt = Date.now()
  const formatElapsed = () => ((Date.now() - startedAt) / 1000).toFixed(1)

  process.stderr.write('Installing pinned dependencies … ')
  const { failure, output, isShown } = await runInstallers(root)
  if (failure === undefined && existsSync(path.join(root, 'node_modules', '.bin', 'node'))) {
    console.error(`${formatElapsed()} s`)
    writeFileSync(stampFile, installationId)
    return
  }
  console.error(isShown ? '' : `failed\n\n${output.trimEnd()}\n`)
  const reason = explainFailure(output, failure)
  throw new Refusal(`Could not install the pinned dependencies (${formatElapsed()} s): ${reason}`)
}

/**
 * @param {string} output what npm and pnpm printed
 * @param {string | undefined} failure which program failed, and how
 */
function explainFailure(output, failure) {
  if (NETWORK_FAILURE.test(output))
    return 'the package registry cannot be reached. Check the network and `npm config get registry`, then run the command again.'
  if (INTEGRITY_FAILURE.test(output + failure))
    return 'a package from the registry does not match the lockfile. It was not run. Check `npm config get registry`.'
  return `${failure ?? 'pnpm exited with 0, but installed no Node'}. See the output above.`
}

function readGlibcVersion() {
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport())
  return report.header.glibcVersionRuntime
}

/**
 * Installs the pinned pnpm with npm, then installs the dependencies with pnpm. npm verifies the SHA-512 of pnpm in
 * `pnpm/package-lock.json`, and runs no scripts of that package. The output is shown only after `QUIET_SECONDS`, when a person
 * might wonder what takes so long.
 *
 * @param {string} root
 * @returns {Promise<{ failure?: string, output: string, isShown: boolean }>} `failure` says which program failed, and how; undefined
 *   on success
 * @throws {Refusal} if npm or pnpm cannot be started, or a signal asks us to stop.
 */
async function runInstallers(root) {
  const transcript = createTranscript()
  const showTimer = setTimeout(transcript.show, QUIET_SECONDS * 1000)
  try {
    const failure = await installPnpm(root, transcript)
    if (failure !== undefined) return { failure, ...transcript.getResult() }
    // pnpm must not ask before it replaces `node_modules`: it has no stdin, so nobody could answer.
    const options = ['--frozen-lockfile', '--reporter=append-only', '--config.confirmModulesPurge=false']
    const pnpmFailure = await runInstaller(getPnpmProgram(root), ['install', ...options], {
      cwd: root,
      transcript,
    })
    return { ...(pnpmFailure !== undefined && { failure: pnpmFailure }), ...transcript.getResult() }
  } finally {
    clearTimeout(showTimer)
  }
}

/**
 * Installs the pinned pnpm with npm.
 *
 * @param {string} root
 * @param {Transcript} transcript
 * @returns {Promise<string | undefined>} the failure; undefined on success
 */
async function installPnpm(root, transcript) {
  const options = ['--ignore-scripts', '--prefer-offline', '--fetch-retries=1', '--no-audit', '--no-fund']
  const failure = await runInstaller('npm', ['ci', ...options], {
    cwd: path.join(root, PNPM_FOLDER),
    transcript,
  })
  if (failure !== undefined) return failure
  // The packages of pnpm are `optionalDependencies`, one for each platform. If the SHA-512 of such a package does not match, npm
  // leaves it out and exits with 0.
  return existsSync(getPnpmProgram(root)) ? undefined : `npm left out ${getPnpmPackage()}: EINTEGRITY`
}

/**
 * Runs an installer, for at most `INSTALLER_LIMIT_SECONDS`.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, transcript: Transcript }} options
 * @returns {Promise<string | undefined>} which program failed, and how; undefined on success
 * @throws {Refusal} if the program cannot be started, or a signal asks us to stop.
 */
function runInstaller(program, args, { cwd, transcript }) {
  const name = path.basename(program)
  let endChild = () => {}
  let isOverdue = false
  // Registered before the child starts: otherwise a signal could end this process and leave the child running.
  const stopListening = onFirstSignal(() => endChild())
  // The child gets a process group of its own, so that all its processes can be ended: npm does not pass on every signal.
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, npm_config_update_notifier: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', transcript.add)
    endChild = () => {
      killGroup(child.pid, 'SIGTERM')
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_SECONDS * 1000).unref()
    }
    const limitTimer = setTimeout(() => {
      isOverdue = true
      endChild()
    }, INSTALLER_LIMIT_SECONDS * 1000)
    child.on('error', () => {
      clearTimeout(limitTimer)
      stopListening()
      const advice = program === 'npm' ? ' Plainpath needs npm.' : ''
      reject(new Refusal(`\nCould not start \`${program}\`.${advice}`))
    })
    child.on('close', (code, killedBy) => {
      clearTimeout(limitTimer)
      const signal = stopListening()
      if (signal) reject(new Refusal('stopped.', 128 + os.constants.signals[signal]))
      else if (code === 0) resolve(undefined)
      else if (isOverdue) resolve(`${name} did not finish within ${INSTALLER_LIMIT_SECONDS} s`)
      else resolve(`${name} exited with ${code ?? killedBy}`)
    })
  })
}

/** @typedef {ReturnType<typeof createTranscript>} Transcript */

/** Collects the output of the installers. `show` prints it, and makes all later output be printed as it arrives. */
function createTranscript() {
  let output = ''
  let isShown = false
  return {
    add(/** @type {string} */ chunk) {
      output += chunk
      if (isShown) process.stderr.write(chunk)
    },
    show() {
      isShown = true
      process.stderr.write(`\n${output}`)
    },
    getResult: () => ({ output, isShown }),
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
 * Calls `act` when the first of these signals arrives. Until the returned function is called, they do not end this process.
 *
 * @param {() => void} act
 * @returns {() => typeof SIGNALS[number] | undefined} a function that stops listening and returns the first signal
 */
function onFirstSignal(act) {
  /** @type {typeof SIGNALS[number] | undefined} */
  let firstSignal
  /** @param {NodeJS.Signals} signal */
  const listener = (signal) => {
    if (firstSignal) return
    firstSignal = SIGNALS.find((each) => each === signal)
    act()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener)
    return firstSignal
  }
}

/**
 * Lists the folders of the workspace, the root first, as pnpm-workspace.yaml names them: `folder` or `folder/*`.
 *
 * @param {string} root
 */
function listWorkspaceFolders(root) {
  const yaml = readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8')
  // The block below `packages:`, then each of its entries without dash and quotation marks.
  const entries = /^packages:\n((?: +- .+\n)+)/m.exec(yaml)?.[1]?.match(/[^\s'"-][^\s'"]*/g) ?? []
  const folders = entries.flatMap((entry) => {
    if (!entry.endsWith('/*')) return [path.join(root, entry)]
    const parent = path.join(root, entry.slice(0, -2))
    return existsSync(parent) ? readdirSync(parent).map((name) => path.join(parent, name)) : []
  })
  return [root, ...folders.filter((folder) => existsSync(path.join(folder, 'package.json'))).sort()]
}

/** Lists the workspace folders into which pnpm installs dependencies. @param {string} root */
function listFoldersWithDependencies(root) {
  return listWorkspaceFolders(root).filter((folder) => {
    const manifest = /** @type {{ dependencies?: object, devDependencies?: object }} */ (
      JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    )
    return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).length > 0
  })
}

/**
 * Computes an id of the installation that the checkout needs. The id changes with the manifests, the lockfiles, the workspace file,
 * and the platform.
 *
 * @param {string} root
 */
function identifyInstallation(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`)
  const files = listWorkspaceFolders(root).map((folder) => path.join(folder, 'package.json'))
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', path.join(PNPM_FOLDER, 'package-lock.json')])
    files.push(path.join(root, name))
  for (const file of files) hash.update(`\0${path.relative(root, file)}\0`).update(readFileSync(file))
  return hash.digest('hex')
}
