/**
 * A sealed value that cannot be opened: damaged, moved to another row, or sealed under a key that is not in the list.
 *
 * The message tells an unknown key from the rest, which the operator can mend, and holds nothing of the value.
 */
export class SealError extends Error {
  override readonly name = 'SealError'
}
