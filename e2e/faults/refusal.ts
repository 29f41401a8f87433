import type { HttpResponse } from './http-client.ts'

/** The error format of an endpoint: `agent` is problem details with an `error` member, `oauth` is RFC 6749 only. */
export type RefusalForm = 'problem' | 'agent' | 'oauth'

const MEDIA_TYPES: Readonly<Record<RefusalForm, string>> = {
  problem: 'application/problem+json',
  agent: 'application/problem+json',
  oauth: 'application/json',
}

/** Checks that a 503 has `Retry-After` and the format of the endpoint. @returns the mistake, or undefined */
export function wrongRefusal(response: HttpResponse, form: RefusalForm): string | undefined {
  if (!/^[1-9]\d*$/.test(response.header('retry-after') ?? '')) return '503 without Retry-After in seconds'
  if (response.header('cache-control') !== 'no-store') return '503 that may be stored'
  if (response.header('www-authenticate') !== undefined) return '503 with a challenge'
  const type = response.header('content-type')?.split(';')[0]
  if (type !== MEDIA_TYPES[form]) return `503 as ${type ?? 'nothing'}`
  const body = parseJsonObject(response.text)
  if (form !== 'problem' && body['error'] !== 'temporarily_unavailable') return '503 with another error'
  if (form !== 'problem' && typeof body['error_description'] !== 'string') return '503 without description'
  if (form === 'oauth') return undefined
  const problemType = body['type']
  if (typeof problemType !== 'string' || !problemType.endsWith('/problems/unavailable'))
    return '503 with another problem'
  return body['code'] === 'unavailable' && body['status'] === 503 ? undefined : '503 with another problem'
}

/** Parses a JSON object. Returns an empty object for any other text. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
