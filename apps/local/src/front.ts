import type { RequestHandler } from '@plainpath/http'
import { type AppName, appFor } from '@plainpath/metadata'

/** One origin for both apps, by the path table: what a gateway does where they run apart. */
export function front(apps: Readonly<Record<AppName, RequestHandler>>): RequestHandler {
  return (request, response) => apps[appFor(pathOf(request.url ?? '/'))](request, response)
}

/** The path as it was sent; of an absolute-form target (RFC 9112 §3.2.2) the part behind the authority. */
function pathOf(target: string): string {
  const withoutAuthority = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return withoutAuthority.split(/[?#]/, 1)[0] || '/'
}
