import process from 'node:process'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { type Browser, chromium } from 'playwright-core'

/** Opens Debian's Chromium, headless. Disposing closes it. */
export async function openBrowser(): Promise<Browser> {
  const programs = await findDebianPrograms(['chromium'], process.env['PATH'] ?? '')
  return chromium.launch({ executablePath: programs.chromium, timeout: 30_000 })
}
