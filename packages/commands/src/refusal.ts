/** Explains, for the person at the terminal, why a command did not run or failed. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** 1 if the command refused or failed, 2 for wrong usage or settings. */
  readonly exitCode: 1 | 2
  /** The members of the output of `--json`, in addition to `ok: false`. */
  readonly json: object

  constructor(reason: string, { exitCode = 1, json = { reason } }: { exitCode?: 1 | 2; json?: object } = {}) {
    super(reason)
    this.exitCode = exitCode
    this.json = json
  }
}

/** System calls that open a connection, for example to a database. */
const NETWORK_CALLS = new Set(['connect', 'getaddrinfo'])

/**
 * Creates a `.catch` handler that converts operating-system errors into refusals and rethrows all other errors.
 *
 * @param describe receives the error code, such as ENOENT, and returns the message for the person at the terminal
 */
export const createFileErrorHandler =
  (describe: (code: string) => string) =>
  (error: unknown): never => {
    const { code, syscall } = error as NodeJS.ErrnoException
    const isFileError = syscall !== undefined && !NETWORK_CALLS.has(syscall)
    throw code && isFileError ? new Refusal(describe(code)) : error
  }
