/** An expected error, whose message is printed without a stack. */
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

/** The oldest major version of Node that can run the bootstrap, which installs the Node for everything else. */
const MIN_NODE = 20
/** The version for which the pinned Node was built. */
const MIN_GLIBC = '2.28'

/**
 * Checks the operating system, the processor and the version of Node.
 *
 * @param {{ platform: string, arch: string, versions: { node: string } }} machine
 * @throws {Refusal} if the lockfile has no programs for this machine, or its Node is too old to start them.
 */
export function checkMachine({ platform, arch, versions }) {
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64'))
    throw new Refusal(`Plainpath runs on Linux (x64 or arm64, glibc); this is ${platform} ${arch}.`)
  if (Number.parseInt(versions.node, 10) < MIN_NODE)
    throw new Refusal(`Plainpath needs Node ${MIN_NODE} or newer to start; this is Node ${versions.node}.`)
}

/**
 * Checks the C library. Separate from `checkMachine`, because finding out the version is too slow for every start.
 *
 * @param {string | undefined} glibc the version of glibc; undefined with another C library.
 * @throws {Refusal} if the pinned programs cannot run with this C library.
 */
export function checkLibrary(glibc) {
  if (glibc === undefined) throw new Refusal('Plainpath needs glibc; this Linux uses another C library.')
  if (glibc.localeCompare(MIN_GLIBC, 'en', { numeric: true }) < 0)
    throw new Refusal(`Plainpath needs glibc ${MIN_GLIBC} or newer; this machine has ${glibc}.`)
}
