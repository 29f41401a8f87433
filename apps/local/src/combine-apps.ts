import type { RequestHandler } from '@plainpath/http'
import { type AppName, findAppForPath } from '@plainpath/metadata'

/** Routes each request to the app that the path table names, as the gateway does when the apps run separately. */
export function combineApps(apps: Readonly<Record<AppName, RequestHandler>>): RequestHandler {
  return (request, response) => apps[findAppForPath(parsePath(request.url ?? '/'))](request, response)
}

/** Returns the path of a request target, without decoding it. The target may be an absolute URL (RFC 9112 §3.2.2). */
function parsePath(target: string): string {
  const withoutAuthority = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return withoutAuthority.split(/[?#]/, 1)[0] || '/'
}
