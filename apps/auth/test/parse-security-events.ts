import { expect } from 'vitest'

/** Parses the security events among log lines, and leaves out the members that every log line has. */
export const parseSecurityEvents = (lines: readonly string[]): Record<string, unknown>[] =>
  lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'security event')
    .map(({ level: _level, time, service: _service, msg: _msg, ...event }) => {
      expect(time).toMatch(/^\d{4}-.*Z$/)
      return event
    })
