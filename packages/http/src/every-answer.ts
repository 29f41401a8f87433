/** The headers that every answer has, whoever gives it; `no-store` until a route says otherwise. */
export const headersOfEveryAnswer = (origin: string): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  ...(origin.startsWith('https:') && {
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
  }),
})
