import { randomInt } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'

/** Decimal digits, each code as likely as every other: `randomInt` has no modulo bias. */
export const newCode = (): string =>
  String(randomInt(10 ** RULES.claimCodeDigits)).padStart(RULES.claimCodeDigits, '0')

/**
 * The digits of a code that somebody meant: full-width digits (and others with a compatibility form) are their ASCII ones,
 * blanks, and hyphens between groups, do not count. A number that lost its leading zeros is not completed: it may be
 * a code that was cut off.
 *
 * @returns undefined for what cannot be a code, which is no guess and counts as none
 */
export function normalisedCode(entered: string): string | undefined {
  const digits = entered.normalize('NFKC').replaceAll(/[\s-]/g, '')
  return digits.length === RULES.claimCodeDigits && /^[0-9]+$/.test(digits) ? digits : undefined
}

/** As it is kept: without the key, a million guesses would find the code of a plain hash at once. */
export const codeHash = (hashKey: HashKey, attemptId: string, code: string): Buffer =>
  hashKey.hash('otp', `${attemptId}\n${code}`)
