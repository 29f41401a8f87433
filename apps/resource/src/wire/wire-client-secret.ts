import { readFile } from 'node:fs/promises'
import type { Log } from '@plainpath/http'
import { type FollowedClientSecret, followClientSecret } from '../auth/client-secret.ts'
import type { Config } from '../config.ts'
import { parseClientSecret } from '../settings.ts'

/** The secret that the file holds, as it changes. */
export const wireClientSecret = (config: Config, log: Log): FollowedClientSecret =>
  followClientSecret({
    first: config.clientSecret,
    read: async () => parseClientSecret(await readFile(config.clientSecretFile, 'utf8')),
    log,
  })
