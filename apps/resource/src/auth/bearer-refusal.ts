import { Problem, type ProblemCode } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { bearerChallenge, type Challenge } from './challenge.ts'

/** Problems with a challenge that names the scopes. */
export const bearerRefusal =
  (urls: ServiceUrls, scope: readonly string[]) =>
  (code: ProblemCode, detail: string, error?: Challenge['error']): Problem => {
    const challenge = { scope, resourceMetadata: urls.protectedResource, ...(error && { error }) }
    return new Problem(code, { detail, headers: { 'www-authenticate': bearerChallenge(challenge) } })
  }
