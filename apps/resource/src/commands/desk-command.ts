import { userInfo } from 'node:os'
import { openPool } from '@plainpath/postgres'
import { InvalidArgumentError } from 'commander'
import { type Environment, loadDatabaseUrl } from '../config.ts'

export interface ForPrograms {
  readonly json?: boolean
}

export const openCommandPool = (env: Environment) =>
  openPool(loadDatabaseUrl(env), { max: 1, applicationName: 'plainpath resource command' })

/** Who runs the command, for the audit. */
export const actorName = (): string => userInfo().username

export function listLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw new InvalidArgumentError('It must be from 1 to 10000.')
  return limit
}
