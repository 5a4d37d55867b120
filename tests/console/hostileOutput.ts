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
<meta http-equiv="refresh" content="0;url=${elsewhere}/refresh">`;
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
