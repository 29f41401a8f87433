/**
 * The outcome of an operation whose failure the caller must handle.
 *
 * Use it for answers ("the address is known already"). Throw for surprises ("the database is gone").
 */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E }

export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value })
export const err = <const E>(error: E): Result<never, E> => ({ ok: false, error })
