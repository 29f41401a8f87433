/** Where a command writes. Each call is a line, or several joined by line ends. */
export interface CommandIo {
  print(text: string): void
  printError(text: string): void
}

/** An answer that is no success, in words for the person at the terminal. Exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** What is said of a `SealError`. */
export const UNREADABLE = 'An address or a message cannot be opened with the key-encryption keys there are.'
