import { randomInt } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'

/** Generates a code of decimal digits. All codes are equally likely, since `randomInt` has no modulo bias. */
export const generateCode = (): string =>
  String(randomInt(10 ** RULES.verificationCodeDigits)).padStart(RULES.verificationCodeDigits, '0')

/**
 * Normalises an entered code: converts the digits of every script, such as Arabic, to ASCII, and removes white space, invisible
 * marks, hyphens and dashes, which programs put in place of hyphens. It adds no leading zeros to a short number, which may be a
 * truncated code.
 *
 * @returns undefined for text that cannot be a code, which does not count as a try
 */
export function normaliseCode(entered: string): string | undefined {
  // Checked first, because normalising many combining characters takes quadratic time.
  if (entered.length > RULES.enteredCodeCharacters) return undefined
  const digits = entered
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}\p{Cf}]/gu, '')
    .replaceAll(/\p{Nd}/gu, toAsciiDigit)
  return digits.length === RULES.verificationCodeDigits && /^[0-9]+$/.test(digits) ? digits : undefined
}

/**
 * Converts a decimal digit of any script to ASCII. In Unicode, the ten digits of a script follow one another, from zero to nine.
 * The digits of another script may follow immediately.
 */
function toAsciiDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0
  let value = 0
  while (/\p{Nd}/u.test(String.fromCodePoint(codePoint - value - 1))) value += 1
  return String(value % 10)
}

/** The purpose of a code: a verification that an agent requested, or the sign-in of a person with an app. */
export const CODE_PURPOSES = ['agent', 'sign-in'] as const
export type CodePurpose = (typeof CODE_PURPOSES)[number]

const HASH_LABELS: Readonly<Record<CodePurpose, string>> = { agent: 'otp', 'sign-in': 'sign-in-otp' }

/**
 * Hashes a code for storage, together with its attempt and purpose. The hash is keyed, because a million guesses would invert a
 * plain hash.
 */
export const hashCode = (hashKey: HashKey, purpose: CodePurpose, attemptId: string, code: string): Buffer =>
  hashKey.hash(HASH_LABELS[purpose], `${attemptId}\n${code}`)
