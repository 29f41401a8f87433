import { InvalidArgumentError } from 'commander'

/** Of a command that an audit keeps: why, trimmed. */
export function reasonArgument(text: string): string {
  if (!/^[^\p{Cc}]{1,200}$/u.test(text.trim()))
    throw new InvalidArgumentError('1 to 200 characters on one line.')
  return text.trim()
}
