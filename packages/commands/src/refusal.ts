/** The reason why a command was not carried out, in one sentence for the person at the terminal. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** 1 refused or failed, 2 wrong usage or settings. */
  readonly exitCode: 1 | 2
  /** The members that a program gets with `--json`, beside `ok: false`. */
  readonly json: object

  constructor(reason: string, { exitCode = 1, json = { reason } }: { exitCode?: 1 | 2; json?: object } = {}) {
    super(reason)
    this.exitCode = exitCode
    this.json = json
  }
}

/**
 * For `.catch`: refuses when the operating system failed, and throws any other error as it is.
 *
 * @param describe gets the error code, such as ENOENT. The sentence names a path only where that may be repeated.
 */
export const refuseFileError =
  (describe: (code: string) => string) =>
  (error: unknown): never => {
    const { code, syscall } = error as NodeJS.ErrnoException
    throw code && syscall ? new Refusal(describe(code)) : error
  }
