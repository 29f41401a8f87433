import type { HttpResponse } from './http-client.ts'

/** An endpoint's error format: problem details, an OAuth error (RFC 6749), or, for `agent`, the members of both. */
export type ErrorFormat = 'problem' | 'agent' | 'oauth'

const MEDIA_TYPES: Readonly<Record<ErrorFormat, string>> = {
  problem: 'application/problem+json',
  agent: 'application/problem+json',
  oauth: 'application/json',
}

/**
 * Checks the headers of a 503, and that its body has the endpoint's error format.
 *
 * @returns the mistake, or undefined
 */
export function findRefusalMistake(response: HttpResponse, format: ErrorFormat): string | undefined {
  if (!/^[1-9]\d*$/.test(response.header('retry-after') ?? '')) return '503 without Retry-After in seconds'
  if (response.header('cache-control') !== 'no-store') return '503 that may be stored'
  if (response.header('www-authenticate') !== undefined) return '503 with a challenge'
  const mediaType = response.header('content-type')?.split(';')[0]
  if (mediaType !== MEDIA_TYPES[format]) return `503 as ${mediaType ?? 'nothing'}`
  const body = parseJsonObject(response.text)
  if (format !== 'problem' && body['error'] !== 'temporarily_unavailable') return '503 with another error'
  if (format !== 'problem' && typeof body['error_description'] !== 'string') return '503 without description'
  if (format === 'oauth') return undefined
  const problemType = body['type']
  if (typeof problemType !== 'string' || !problemType.endsWith('/problems/unavailable'))
    return '503 with another problem'
  return body['code'] === 'unavailable' && body['status'] === 503 ? undefined : '503 with another problem'
}

/** Parses a JSON object. Returns an empty object if the text is not JSON, or is a JSON primitive. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
