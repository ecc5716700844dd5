/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */

/** SVG paths on a 20×20 grid, stroked in the text colour. */
const icons = {
  home: 'M3.500 9 10 3.500 16.500 9v7.500h-4.500v-4.500h-4v4.500h-4.500z',
  conversations: 'M3.5 4.500h13v9h-7.500l-3.500 3v-3h-2z',
  attention:
    'M10 3.500a4.5 4.5 0 0 1 4.5 4.500v2.500l1.5 3h-12l1.5-3V8a4.500 4.500 0 0 1 4.5-4.500zM8.500 16.500h3M10 3.500v-1',
  network:
    'M7 5a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM17 7a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM11.5 15a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM7 5.400l6 1.200M5.700 6.900 8.700 13.200M13.900 8.700 10.700 13.400',
  tasks: 'M3 5.500l1.500 1.500L7 4.500M9.500 6h7.500M3 11.500l1.500 1.500L7 10.500M9.500 12h7.500',
  reservations: 'M5 17V3.500M5 4.500h10.500l-2.500 3.500 2.500 3.500H5',
  agents:
    'M5 7.5h10a1.5 1.5 0 0 1 1.5 1.5v5A1.5 1.5 0 0 1 15 15.500H5A1.5 1.5 0 0 1 3.5 14V9A1.5 1.5 0 0 1 5 7.500zM10 7.500V4M7.5 11v1.500M12.5 11v1.500M10 4h.01',
  channels: 'M8 3.5 6.5 16.500M13.5 3.5 12 16.500M4 7.500h13M3 12.500h13',
  skills: 'M11 2.5 4.5 11.500H9.500L9 17.5 15.5 8.500H10.500z',
  guardrails: 'M10 2.5 16 5v4.500c0 3.7-2.5 6.7-6 8-3.5-1.3-6-4.3-6-8V5zM7.5 10l2 2 3.5-4',
  activity: 'M2.5 10.500h3.500l2.5-6.5 3.5 12 2.5-5.500h3',
  settings: 'M3 6h7M14 6h3M3 14h3M10 14h7M12 4v4M8 12v4',
  inbox: 'M3 11.5 5.5 4h9L17 11.500V16H3zM3 11.500h4l1 2h4l1-2h4',
  key: 'M11.3 8.7 17 3M14 6l2 2M12.5 11.500a4 4 0 1 1-8 0 4 4 0 0 1 8 0z',
  plus: 'M10 4v12M4 10h12',
  copy: 'M7.5 7.500h9v9h-9zM4.5 12.500h-1v-9h9v1',
  check: 'm4 10.5 4 4 8-9',
  chevron: 'm6 8 4 4 4-4',
  back: 'm11.5 5-5 5 5 5',
  next: 'm8.5 5 5 5-5 5',
  search: 'M14 8.750a5.25 5.25 0 1 1-10.5 0 5.25 5.25 0 0 1 10.5 0zM12.5 12.5 17 17',
  leave: 'M8 4H4v12h4M8 10h9M13.5 6.5 17 10l-3.5 3.5',
  warning: 'M10 3 17.5 16.500h-15zM10 8v4M10 14.300v.01',
  info: 'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0zM10 9.500v4M10 6.700v.01',
  bin: 'M3.5 5.500h13M8 5.500v-2h4v2M5 5.500l.8 11h8.400l.8-11M8.5 9v4.500M11.5 9v4.5',
  close: 'm5 5 10 10M15 5 5 15',
  edit: 'M4 16l.7-3.500L13 4.200a1.6 1.6 0 0 1 2.3 0l.5.5a1.6 1.6 0 0 1 0 2.300L7.5 15.300z',
  more: 'M3.5 5.500h13M3.5 10h13M3.5 14.500h13',
  people:
    'M10.5 7a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM2.5 16.500c0-3 2-4.5 5-4.500s5 1.5 5 4.500M13 4.300a3 3 0 0 1 0 5.400M14.8 12.300c1.8.6 2.9 2 2.9 4.2',
  again: 'M16.5 10a6.5 6.5 0 1 1-2-4.700M16.5 3v3.500h-3.500',
  keyboard: 'M2.500 5.500h15v9h-15zM5.500 8.500h.01M8.500 8.500h.01M11.500 8.500h.01M14.500 8.500h.01M6.500 11.500h7',
  send: 'M17 3 9 11M17 3l-5 14-3-6-6-3z',
  clip:
    'M15.5 9.500l-5.700 5.700a3.600 3.600 0 0 1-5.100-5.100l6.200-6.200a2.400 2.400 0 0 1 3.400 3.400l-6 6a1.200 1.200 0 0 1-1.700-1.700l5.200-5.200',
  clock: 'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0zM10 5.700V10l3 1.800',
  globe: 'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0zM3 10h14M10 3c4.5 4.5 4.5 9.5 0 14-4.5-4.5-4.5-9.5 0-14z',
} as const

export type IconName = keyof typeof icons

/** A decorative icon, hidden from screen readers. Its parent element needs text or a label. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      class={name === 'chevron' ? 'icon chevron' : 'icon'}
      width={size}
      height={size}
      viewBox='0 0 20 20'
      aria-hidden='true'
    >
      <path d={icons[name]} />
    </svg>
  )
}

/** The product logo: four grid nodes, of which two are connected. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox='0 0 24 24' fill='none' stroke='currentColor' aria-hidden='true'>
      <path d='M6 6h12v12H6z' stroke-width='1.6' opacity='.45' />
      <path d='M6 18 18 6' stroke-width='1.8' />
      <g fill='currentColor' stroke='none'>
        <circle cx='6' cy='6' r='2.6' opacity='.45' />
        <circle cx='18' cy='18' r='2.6' opacity='.45' />
        <circle cx='6' cy='18' r='3.4' />
        <circle cx='18' cy='6' r='3.4' />
      </g>
    </svg>
  )
}

export const iconSvg =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='#0f8a65' stroke-linecap='round'>" +
  "<path d='M7 7h10v10H7zM7 7l10 10' stroke-width='2.4'/>" +
  "<path d='M7 7h0M17 7h0M7 17h0M17 17h0' stroke-width='6.8'/></svg>"
