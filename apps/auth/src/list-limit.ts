import { InvalidArgumentError } from 'commander'

/** Of a command that lists: how many, 1 to 1000. */
export function listLimit(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1000) throw new InvalidArgumentError('It must be a number from 1 to 1000.')
  return limit
}
