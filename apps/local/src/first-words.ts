import { isLoopback, serviceUrls } from '@plainpath/metadata'
import type { LocalSettings } from './local-settings.ts'

/** What a person reads once the service is ready: the address, and three commands that work when pasted. */
export function firstWords({ origin, limitsFactor }: LocalSettings): string[] {
  const urls = serviceUrls(origin)
  return [
    '',
    `Plainpath is ready: ${origin}`,
    ...(limitsFactor === 1
      ? []
      : [
          `Rate limits are multiplied by ${limitsFactor}${isLoopback(origin) ? ', since only this machine can reach it' : ''}.`,
        ]),
    '',
    'Try these in another terminal:',
    `  curl ${urls.base}/guides`,
    `  curl -X POST ${urls.register}`,
    `  curl -X POST ${urls.base}/waitlist -H 'Content-Type: application/json' -d '{"email":"ana@example.org"}'`,
    '',
    'Ctrl-C stops it. The data stays.',
    '',
  ]
}
