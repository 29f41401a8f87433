import type { HttpResponse } from './http-client.ts'

/** The error format of an endpoint: `agent` is problem details with an `error` member, `oauth` is RFC 6749 only. */
export type RefusalForm = 'problem' | 'agent' | 'oauth'

const TYPES: Readonly<Record<RefusalForm, string>> = {
  problem: 'application/problem+json',
  agent: 'application/problem+json',
  oauth: 'application/json',
}

/** Checks a 503: it needs `Retry-After` and the format of the endpoint. Returns what is wrong; undefined if nothing is. */
export function wrongRefusal(response: HttpResponse, form: RefusalForm): string | undefined {
  if (!/^[1-9]\d*$/.test(response.header('retry-after') ?? '')) return '503 without Retry-After in seconds'
  if (response.header('cache-control') !== 'no-store') return '503 that may be stored'
  if (response.header('www-authenticate') !== undefined) return '503 with a challenge'
  const type = response.header('content-type')?.split(';')[0]
  if (type !== TYPES[form]) return `503 as ${type ?? 'nothing'}`
  const body = jsonObject(response.text)
  if (form !== 'problem' && body['error'] !== 'temporarily_unavailable') return '503 with another error'
  if (form !== 'problem' && typeof body['error_description'] !== 'string') return '503 without description'
  if (form === 'oauth') return undefined
  const page = body['type']
  if (typeof page !== 'string' || !page.endsWith('/problems/unavailable')) return '503 with another problem'
  return body['code'] === 'unavailable' && body['status'] === 503 ? undefined : '503 with another problem'
}

export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
