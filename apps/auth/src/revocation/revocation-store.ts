import type { Ended } from '@plainpath/revocation'

/**
 * What revokers and the memories of APIs share: a number that rises with each revocation, the members and what each
 * acknowledged, and a birth mark, which is another one after the store lost anything. Every method is one atomic step,
 * and throws when the store does not answer.
 */
export interface RevocationStore {
  /** The birth mark; makes one where there is none. */
  look(): Promise<string>
  /** Raises the number and tells the members what ended. */
  raise(ended: Ended): Promise<{ mark: string; number: number }>
  /** How many members have not acknowledged the number. The mark is empty where there is none. */
  pending(number: number): Promise<{ mark: string; pending: number }>
  /** Takes those off the list, unless the mark is another one. @returns how many those were */
  strikeOff(mark: string, number: number): Promise<number>
}
