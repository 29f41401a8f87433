import { z } from 'zod'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** True for an origin that only this machine can reach. */
export const isLoopback = (origin: string) => LOOPBACK.has(new URL(origin).hostname)

/** ORIGIN as it may be configured: https, or http on loopback; nothing behind the authority. */
export const Origin = z.string().refine((text) => {
  const url = URL.parse(text)
  return (
    url !== null &&
    url.origin === text &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(text)))
  )
}, 'must be an origin such as https://plainpath.example (http only on localhost), without a path or a trailing slash')
