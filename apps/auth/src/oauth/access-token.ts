/* The format of the tokens that this server issues: a prefix that makes them recognisable, then 32 random bytes. */
import { drawRandomBytes } from '@plainpath/sealing'

export const ACCESS_TOKEN_PREFIX = 'ppt_'
export const REFRESH_TOKEN_PREFIX = 'ppr_'

/** Matches every access token that this server issues. */
export const ACCESS_TOKEN_PATTERN = new RegExp(`^${ACCESS_TOKEN_PREFIX}[A-Za-z0-9_-]{43}$`)

export const generateAccessToken = (): string =>
  ACCESS_TOKEN_PREFIX + drawRandomBytes(32).toString('base64url')
