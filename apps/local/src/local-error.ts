/** Why the service cannot start here, in one line that says what to do. */
export class LocalError extends Error {
  override readonly name = 'LocalError'
}
