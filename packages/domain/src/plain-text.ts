import { z } from 'zod'

/**
 * Creates a schema of text that a person writes. Trims it and converts line endings to `\n`. Refuses empty text, unpaired
 * surrogates, and control characters other than line ends and tabs, which could command a terminal.
 *
 * @param maxCharacters the maximum length in code points
 */
export const createPlainText = (maxCharacters: number) =>
  z
    .string()
    .transform((text) => text.replaceAll(/\r\n?/g, '\n').trim())
    .refine((text) => text !== '', 'must say something')
    .refine((text) => [...text].length <= maxCharacters, `must be at most ${maxCharacters} characters`)
    .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
    .refine((text) => !/[^\P{Cc}\n\t]/u.test(text), 'must have no control characters but line ends and tabs')
