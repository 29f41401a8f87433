import { z } from 'zod'

/**
 * Creates a schema of text that a person writes. Trims it and converts line endings to `\n`. Refuses empty text, text that is too
 * long, and unpaired surrogates. Also refuses control characters other than `\n` and tab, because they could control a terminal.
 *
 * @param maxCharacters the maximum length in code points
 */
export const createPlainText = (maxCharacters: number) =>
  z
    .string()
    .transform((text) => text.replaceAll(/\r\n?/g, '\n').trim())
    .refine((text) => text !== '', 'must contain text')
    .refine((text) => [...text].length <= maxCharacters, `must be at most ${maxCharacters} characters`)
    .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
    // Matches any control character (Cc) except `\n` and tab.
    .refine(
      (text) => !/[^\P{Cc}\n\t]/u.test(text),
      'must have no control characters except line ends and tabs',
    )
