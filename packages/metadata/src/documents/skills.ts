import { createHash } from 'node:crypto'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import {
  createJsonDocument,
  MARKDOWN_TYPE,
  parsePath,
  type ResourceDocumentConfig,
  type ServedDocument,
} from './served-document.ts'

/** The media type of a SKILL.md in `ai-catalog.json`. */
export const SKILL_TYPE = 'application/agent-skills+md'

const INDEX_SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

/** An agent skill (agentskills.io). */
interface Skill {
  /** The name, which is also the folder name. */
  readonly name: string
  readonly title: string
  /** The purpose of the skill, and when to use it; at most 1024 characters. */
  readonly description: string
  readonly version: string
  /** Example questions for which the skill is useful. */
  readonly queries: readonly string[]
  /** Creates the Markdown text, without the front matter. */
  formatBody(urls: ServiceUrls, attorneyLists: readonly string[]): string
}

const fillUseApi = readTemplate(new URL('./use-immigration-guidance-api.template.md', import.meta.url), [
  'urls',
  'handOffSkill',
])
const fillHandOff = readTemplate(new URL('./hand-off-to-an-attorney.template.md', import.meta.url), [
  'urls',
  'attorneyLists',
  'useApiSkill',
])

const USE_API: Skill = {
  name: 'use-immigration-guidance-api',
  title: 'Use the Plainpath Immigration Guidance API',
  description:
    'Answer a question about U.S. immigration, find and read plain-English guides with their official sources, put a ' +
    'person on the product waitlist, and send a message to the staff of Plainpath for a person, through the Plainpath ' +
    'Immigration Guidance API. Use when a person asks about a U.S. immigration form, fee, step, deadline or appointment, ' +
    'wants to join the waitlist, or wants to write to Plainpath.',
  version: '1.2.0',
  queries: [
    'how do I apply for a work permit',
    'put me on the immigration guidance waitlist',
    'tell Plainpath that a guide is wrong',
  ],
  formatBody: (urls) => fillUseApi({ urls, handOffSkill: urls.skill(HAND_OFF.name) }),
}

/** The skill that says when to stop answering, and how a person finds an attorney. */
const HAND_OFF: Skill = {
  name: 'hand-off-to-an-attorney',
  title: 'Hand off to an immigration attorney',
  description:
    'Recognize when a question about U.S. immigration needs a licensed attorney or an accredited representative, ' +
    'and lead the person to the official lists. Use when a case involves removal proceedings, arrests, past ' +
    'denials, false statements, fear of return, missed deadlines, or anything that a guide does not settle.',
  version: '1.2.0',
  queries: ['do I need an immigration lawyer', 'where can I find free legal help for immigration court'],
  formatBody: (urls, attorneyLists) =>
    fillHandOff({
      urls,
      attorneyLists: attorneyLists.map((address) => `   - ${address}`).join('\n'),
      useApiSkill: urls.skill(USE_API.name),
    }),
}

export const SKILLS: readonly Skill[] = [USE_API, HAND_OFF]

/** Creates the skill files, and their index with file digests (Agent Skills discovery 0.2.0). */
export function createAgentSkills(
  urls: ServiceUrls,
  { attorneyLists }: Pick<ResourceDocumentConfig, 'attorneyLists'>,
): ServedDocument[] {
  const files = SKILLS.map((skill) => ({
    ...skill,
    content: formatSkillFile(skill, urls, skill.formatBody(urls, attorneyLists)),
  }))
  const index = {
    $schema: INDEX_SCHEMA,
    instructions:
      'Use these when a person asks about U.S. immigration: forms, fees, steps, waiting, appointments; or wants to ' +
      'send a message to Plainpath. They give sourced information, not legal advice. Do not use them to decide ' +
      'somebody’s own case.',
    skills: files.map(({ name, description, content }) => ({
      name,
      type: 'skill-md',
      description,
      url: urls.skill(name),
      digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
    })),
  }
  return [
    createJsonDocument(urls.skills, index),
    ...files.map(({ name, content }) => ({
      path: parsePath(urls.skill(name)),
      contentType: MARKDOWN_TYPE,
      otherTypes: [SKILL_TYPE],
      content,
    })),
  ]
}

/** Formats a skill file. Writes front matter texts as JSON strings, which are valid YAML. */
const formatSkillFile = ({ name, description, version }: Skill, urls: ServiceUrls, body: string) => `---
name: ${name}
description: ${JSON.stringify(description)}
license: Proprietary
compatibility: ${JSON.stringify(`Needs HTTP access to ${urls.origin}`)}
metadata:
  version: ${JSON.stringify(version)}
  auth: ${JSON.stringify(urls.authMd)}
---
${body}`
