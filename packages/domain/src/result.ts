/**
 * The outcome of an operation whose failure the caller must handle.
 *
 * Use it for expected outcomes ("the address is registered already"). Throw for unexpected ones ("the database is down").
 */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E }

export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value })
export const err = <const E>(error: E): Result<never, E> => ({ ok: false, error })
