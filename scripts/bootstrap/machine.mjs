/** An expected error, which is printed as one line without a stack. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

const LOWEST_NODE = 20
const LOWEST_GLIBC = '2.28'

/**
 * @param {{ platform: string, arch: string, versions: { node: string } }} machine
 * @throws {Refusal} on a machine for which the lockfile has no programs.
 */
export function checkMachine({ platform, arch, versions }) {
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64'))
    throw new Refusal(`Plainpath runs on Linux (x64 or arm64, glibc); this is ${platform} ${arch}.`)
  if (Number.parseInt(versions.node, 10) < LOWEST_NODE)
    throw new Refusal(`Plainpath needs Node ${LOWEST_NODE} or newer to start; this is Node ${versions.node}.`)
}

/**
 * Separate from `checkMachine`, because reading the report is too slow for every start.
 *
 * @param {string | undefined} glibc version of the C library in use; absent with musl.
 * @throws {Refusal} when the pinned programs cannot be loaded.
 */
export function checkLibrary(glibc) {
  if (glibc === undefined) throw new Refusal('Plainpath needs glibc; this Linux uses another C library.')
  if (glibc.localeCompare(LOWEST_GLIBC, 'en', { numeric: true }) < 0)
    throw new Refusal(`Plainpath needs glibc ${LOWEST_GLIBC} or newer; this machine has ${glibc}.`)
}
