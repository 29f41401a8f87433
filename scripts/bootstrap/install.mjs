import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { takeLock } from './lock.mjs'
import { checkLibrary } from './machine.mjs'
import { Refusal } from './refusal.mjs'
import { INSTALL_LIMIT_SECONDS, runInstaller } from './run-installer.mjs'
import { foldersWithDependencies, wantedInstallation } from './workspace.mjs'

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
