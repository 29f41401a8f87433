import { expect } from 'vitest'

/** The security events among the lines that a process logged, without what every line has. */
export const securityEventsIn = (lines: readonly string[]): Record<string, unknown>[] =>
  lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'security event')
    .map(({ level: _level, time, service: _service, msg: _msg, ...event }) => {
      expect(time).toMatch(/^\d{4}-.*Z$/)
      return event
    })
